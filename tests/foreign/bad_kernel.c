/* SPDX-License-Identifier: Apache-2.0 */
/* The library of examples/plugin with one fault, FAULT, on problems of 13 tokens; on all others it is
 * right. What the suite must survive and name: tests/foreign/bad_library_test.cpp. */
#define _DEFAULT_SOURCE
#define gdr2_kernel_v1 right_kernel_v1
#include "examples/plugin/my_kernel.c"
#undef gdr2_kernel_v1

#include <stdio.h>
#include <unistd.h>

enum { kSegfault, kAbort, kExit, kHang, kGrow, kOutOfBounds, kFarOutOfBounds, kNan, kUnwritten, kWritesInput,
       kLies, kFails, kPrints, kClosesOutput, kQueryCrashes, kQueryHangs,
       kWrongVersion, kWrongSize, kNoTable, kCrashesOnLoad };

static void grow(void) {
  for (;;) {
    const size_t bytes = (size_t)16 << 20;
    char* more = malloc(bytes);
    if (more) memset(more, 1, bytes);
    usleep(1000);
  }
}

static gdr2_status bad_forward(const gdr2_problem* p, const gdr2_inputs* in, const gdr2_outputs* out,
                               gdr2_workspace* workspace) {
  if (p->T != 13) return forward(p, in, out, workspace);
  if (FAULT == kSegfault) *(volatile int*)8 = 1;
  if (FAULT == kAbort) abort();
  if (FAULT == kExit) exit(0);
  if (FAULT == kHang) for (;;) pause();
  if (FAULT == kGrow) grow();
  if (FAULT == kLies) return GDR2_UNSUPPORTED;
  if (FAULT == kFails) return strcpy(workspace->error, "out of luck"), GDR2_DEVICE_ERROR;
  if (FAULT == kPrints) puts("{\"ok\": true}"), fflush(stdout);
  if (FAULT == kClosesOutput) for (int i = 0; i < 64; ++i) close(i);
  forward(p, in, out, workspace);
  float* o = out->o.data;
  const int64_t count = p->B * p->T * p->HV * p->V;
  if (FAULT == kOutOfBounds) o[count] = 1;
  if (FAULT == kFarOutOfBounds) o[count + ((int64_t)1 << 40)] = 1;
  if (FAULT == kNan) o[5] = NAN;
  if (FAULT == kUnwritten) memset(o + 5, *((unsigned char*)(o + count)), sizeof *o); /* poison again */
  if (FAULT == kWritesInput) ((float*)in->v.data)[3] += 1;
  return GDR2_OK;
}

static gdr2_status bad_query(const gdr2_problem* p, int32_t pass, gdr2_capability* can) {
  if (p->T == 13 && FAULT == kQueryCrashes) abort();
  if (p->T == 13 && FAULT == kQueryHangs) for (;;) pause();
  return query(p, pass, can);
}

__attribute__((constructor)) static void load(void) {
  if (FAULT == kCrashesOnLoad) abort();
}

const gdr2_kernel* gdr2_kernel_v1(void);
const gdr2_kernel* gdr2_kernel_v1(void) {
  static gdr2_kernel bad;
  bad = kernel;
  bad.query = bad_query;
  bad.forward = bad_forward;
  if (FAULT == kWrongVersion) bad.abi_version = 7;
  if (FAULT == kWrongSize) bad.struct_size -= 8;
  return FAULT == kNoTable ? NULL : &bad;
}
