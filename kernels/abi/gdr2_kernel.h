/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface between this suite and a gated delta rule-2 kernel.
 *
 * A kernel library exports one function, gdr2_kernel_v1(), that returns a table of functions.
 * The suite asks `query` whether a problem is supported and with which arithmetic, allocates every
 * buffer (in the memory space that the library names), and calls `forward`, `backward` or `decode`.
 *
 * Promises asked of a library: no call throws, exits or keeps a pointer after it returns; work is
 * enqueued on the given stream; a call that fails returns a status and leaves a message in `error`.
 * Inputs are never written. Every element of a requested output is written.
 *
 * Notation, shapes and equations: docs/MATH.md.
 */
#ifndef GDR2_KERNEL_H
#define GDR2_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GDR2_ABI_VERSION 1
#define GDR2_CHUNK 64      /* tokens a chunk, for the exported stages */
#define GDR2_MAX_MESSAGE 256

typedef enum gdr2_dtype { GDR2_F64 = 0, GDR2_F32 = 1, GDR2_BF16 = 2, GDR2_F16 = 3 } gdr2_dtype;

/* Number format of an arithmetic site; GDR2_NOT_ROUNDED: the site does not exist in this kernel. */
typedef enum gdr2_format {
  GDR2_NOT_ROUNDED = 0,
  GDR2_FORMAT_F64 = 1,
  GDR2_FORMAT_F32 = 2,
  GDR2_FORMAT_TF32 = 3,
  GDR2_FORMAT_BF16 = 4,
  GDR2_FORMAT_F16 = 5
} gdr2_format;

typedef enum gdr2_status {
  GDR2_OK = 0,
  GDR2_UNSUPPORTED = 1,   /* `query` gives the reason */
  GDR2_BAD_ARGUMENT = 2,  /* `error` names the argument */
  GDR2_DEVICE_ERROR = 3
} gdr2_status;

typedef enum gdr2_memory { GDR2_HOST = 0, GDR2_CUDA = 1 } gdr2_memory;

/* How the log decay g comes about. */
typedef enum gdr2_gate {
  GDR2_GATE_LOG = 0,        /* g is given, g <= 0, -inf allowed */
  GDR2_GATE_SOFTPLUS = 1,   /* g = -exp(A_log[h]) softplus(x + dt_bias[h,c]) */
  GDR2_GATE_LOWER_BOUND = 2 /* g = lower_bound sigmoid(exp(A_log[h]) (x + dt_bias[h,c])) */
} gdr2_gate;

/* Layout of h0, ht, dh0, dht and of the decode pool. */
typedef enum gdr2_state_layout { GDR2_STATE_KV = 0, GDR2_STATE_VK = 1 } gdr2_state_layout;

/*
 * A strided tensor. data == NULL: absent (an optional input that is not given, an output that is
 * not wanted). Strides count elements.
 *   q k g b, dq dk dg db        [B, T, H, K]       stride = batch, token, head, channel
 *   v w o, do dv dw             [B, T, HV, V]      the last stride is always 1
 *   h0 ht dh0 dht, pool         [N, HV, rows, cols] rows, cols = K, V or V, K (state_layout)
 *   A_log dA_log                [H]                stride[3]
 *   dt_bias ddt_bias            [H, K]             stride[2], stride[3]
 *   stages                      see gdr2_stage
 */
typedef struct gdr2_tensor {
  void* data;
  int64_t stride[4];
  int32_t dtype; /* gdr2_dtype */
  int32_t reserved;
} gdr2_tensor;

/*
 * The problem. Packed sequences: B == 1, cu_seqlens has N + 1 entries, 0 first, T last, never
 * decreasing. Otherwise cu_seqlens is NULL and N == B.
 */
typedef struct gdr2_problem {
  uint32_t struct_size; /* sizeof(gdr2_problem) */
  int32_t dtype;        /* gdr2_dtype of q k v b w o and their cotangents and gradients */
  int32_t g_dtype;      /* gdr2_dtype of g and dg */
  int32_t products;     /* gdr2_format asked of matrix products: BF16, F16, TF32, F32 or F64 */
  int64_t B, T, N;
  int64_t H, HV, K, V; /* value head hv reads query/key head hv / (HV / H) */
  const int64_t* cu_seqlens;      /* in the library's memory space, or NULL */
  const int64_t* cu_seqlens_host; /* the same values in host memory, or NULL */
  double scale;
  int32_t gate;         /* gdr2_gate */
  int32_t state_layout; /* gdr2_state_layout */
  int32_t l2norm;       /* q and k are normalised in the kernel: x / sqrt(sum x^2 + l2norm_eps) */
  int32_t neg_eigval;   /* b is doubled before the rule; db is with respect to the given b */
  double lower_bound;
  double l2norm_eps;
} gdr2_problem;

typedef struct gdr2_inputs {
  gdr2_tensor q, k, v, g, b, w;
  gdr2_tensor h0;             /* optional */
  gdr2_tensor A_log, dt_bias; /* with a gate in the kernel; dt_bias optional */
} gdr2_inputs;

/* Intermediates that a kernel may export, by chunk (c counts the chunks of all sequences in order,
 * each sequence starting a new chunk; an empty sequence has none). Rows past a tail are zero.
 *   H   [chunks, HV, K, V]   state entering the chunk        DH  its cotangent leaving the chunk
 *   T A AQK [chunks, H, 64, 64]                              Y   [chunks, H, 64, K]
 *   U R P DR [chunks, HV, 64, V]
 */
typedef enum gdr2_stage {
  GDR2_STAGE_H = 0,
  GDR2_STAGE_T = 1,
  GDR2_STAGE_A = 2,
  GDR2_STAGE_AQK = 3,
  GDR2_STAGE_Y = 4,
  GDR2_STAGE_U = 5,
  GDR2_STAGE_R = 6,
  GDR2_STAGE_DH = 7,
  GDR2_STAGE_DR = 8,
  GDR2_STAGE_P = 9,
  GDR2_STAGE_COUNT = 10
} gdr2_stage;

typedef struct gdr2_outputs {
  gdr2_tensor o;
  gdr2_tensor ht;                      /* optional */
  gdr2_tensor stage[GDR2_STAGE_COUNT]; /* optional, fp32; only what the capability lists */
} gdr2_outputs;

typedef struct gdr2_cotangents {
  gdr2_tensor d_o; /* optional: absent means zero */
  gdr2_tensor dht; /* optional: absent means zero */
} gdr2_cotangents;

typedef struct gdr2_gradients {
  gdr2_tensor dq, dk, dv, dg, db, dw;
  gdr2_tensor dh0, dA_log, ddt_bias;   /* optional */
  gdr2_tensor stage[GDR2_STAGE_COUNT]; /* optional */
} gdr2_gradients;

/* Decoding: T tokens a row, B rows; row i continues the state pool[slot[i]] in place. */
typedef struct gdr2_decode {
  gdr2_tensor q, k, v, g, b, w; /* [B, T, heads, channels] */
  gdr2_tensor A_log, dt_bias;
  gdr2_tensor o;
  gdr2_tensor pool;             /* [slots, HV, rows, cols] fp32, read and written */
  const int32_t* slot;          /* [B] in the library's memory space; a negative slot is padding: */
  int64_t slots;                /*     nothing is read or written for it, its o is zero */
} gdr2_decode;

/* The rounding sites of the kernel's arithmetic: from these the suite computes what error to expect. */
typedef struct gdr2_contract {
  int32_t operand;     /* operands of matrix products */
  int32_t auxiliary;   /* stored Y = A Ebar and U = A Z; NOT_ROUNDED: R = A (Z - Ebar S) is formed at once */
  int32_t solve;       /* arithmetic of (I + T)^-1; NOT_ROUNDED: token by token, there are no chunks */
  int32_t state;       /* state carried between chunks */
  int32_t gate;        /* cumulative log decay */
  int32_t accumulator; /* sums of products */
  int32_t normalized;  /* q and k after the L2 norm, when stored; NOT_ROUNDED: kept at accumulator width */
  int32_t direct_rows; /* scores inside blocks of so many rows are formed directly, without rounded operands: 1 .. 64; 0: nowhere */
} gdr2_contract;

enum { GDR2_PASS_FORWARD = 1, GDR2_PASS_BACKWARD = 2, GDR2_PASS_DECODE = 4 };

/* Answer of `query`. `saved` is a buffer that forward fills and backward reads; when backward gets
 * none it recomputes (and needs workspace accordingly). */
typedef struct gdr2_capability {
  uint32_t struct_size;
  int32_t supported;
  char reason[GDR2_MAX_MESSAGE]; /* why not, when not supported */
  gdr2_contract contract;
  uint64_t workspace_bytes;
  uint64_t saved_bytes;
  uint32_t stages; /* bit i: gdr2_stage i can be exported */
  uint64_t workspace_bytes_with_saved; /* enough when `saved` is given; 0: as workspace_bytes */
} gdr2_capability;

typedef struct gdr2_workspace {
  void* data; /* 256-byte aligned, content undefined */
  uint64_t bytes;
  void* saved; /* NULL: neither kept nor given */
  uint64_t saved_bytes;
  void* stream; /* cudaStream_t, or NULL */
  char error[GDR2_MAX_MESSAGE];
} gdr2_workspace;

typedef struct gdr2_kernel {
  uint32_t abi_version; /* GDR2_ABI_VERSION */
  uint32_t struct_size; /* sizeof(gdr2_kernel) */
  const char* name;
  const char* version;
  int32_t memory; /* gdr2_memory of every data pointer */
  int32_t reserved;
  gdr2_status (*query)(const gdr2_problem*, int32_t pass, gdr2_capability*);
  gdr2_status (*forward)(const gdr2_problem*, const gdr2_inputs*, const gdr2_outputs*, gdr2_workspace*);
  gdr2_status (*backward)(const gdr2_problem*, const gdr2_inputs*, const gdr2_cotangents*,
                          const gdr2_gradients*, gdr2_workspace*);
  gdr2_status (*decode)(const gdr2_problem*, const gdr2_decode*, gdr2_workspace*);
} gdr2_kernel;

/* The one exported symbol. Functions that a library lacks are NULL. */
const gdr2_kernel* gdr2_kernel_v1(void);

#ifdef __cplusplus
}
#endif

#endif
