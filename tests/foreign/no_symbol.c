/* SPDX-License-Identifier: Apache-2.0 */
/* A library, but not a kernel library. */
int nothing_of_interest(void);
int nothing_of_interest(void) { return 0; }
