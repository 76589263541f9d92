# SPDX-License-Identifier: Apache-2.0
"""Functions of the flash-linear-attention signature in plain PyTorch, token by token, as targets of
adapters/gdr2_torch.py: a right one for every kind of gates, and wrong ones."""

import torch


def _recurrence(q, k, v, g, b, w, scale, initial_state, output_final_state, cu_seqlens, state_v_first):
    B, T, H, K = q.shape
    V = v.shape[-1]
    spans = [(i, 0, T) for i in range(B)]
    if cu_seqlens is not None:
        ends = cu_seqlens.tolist()
        spans = [(0, begin, end) for begin, end in zip(ends, ends[1:])]
    wide = torch.float64
    rows, states = [], []
    for n, (i, begin, end) in enumerate(spans):
        S = torch.zeros(H, K, V, dtype=wide)
        if initial_state is not None:
            S = initial_state[n].to(wide)
            S = S.transpose(-1, -2) if state_v_first else S
        for t in range(begin, end):
            qt, kt, vt, gt, bt, wt = (x[i, t].to(wide) for x in (q, k, v, g, b, w))
            S = gt.exp()[..., None] * S
            u = wt * vt - ((bt * kt)[..., None] * S).sum(-2)
            S = S + kt[..., None] * u[..., None, :]
            rows.append(scale * (qt[..., None] * S).sum(-2))
        states.append(S.transpose(-1, -2) if state_v_first else S)
    o = torch.stack(rows).reshape(v.shape) if rows else v * 0
    ht = torch.stack(states).float() if output_final_state else None
    return o.to(v.dtype), ht


def _normalized(x):
    return x / (x.double().square().sum(-1, keepdim=True) + 1e-6).sqrt().to(x.dtype)


def chunk_gdn2(q, k, v, g, b, w, scale=None, initial_state=None, output_final_state=False,
               use_qk_l2norm_in_kernel=False, cu_seqlens=None, state_v_first=False):
    if use_qk_l2norm_in_kernel:
        q, k = _normalized(q.double()), _normalized(k.double())
    return _recurrence(q, k, v, g, b, w, scale, initial_state, output_final_state, cu_seqlens,
                       state_v_first)


def chunk_kda(q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False,
              cu_seqlens=None):
    return _recurrence(q, k, v, g, beta[..., None].expand(k.shape), beta[..., None].expand(v.shape), scale,
                       initial_state, output_final_state, cu_seqlens, False)


def chunk_gated_delta_rule(q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False):
    return chunk_kda(q, k, v, g[..., None].expand(k.shape), beta, scale, initial_state, output_final_state)


def wrong_shape(q, k, v, g, b, w, **options):
    return v[..., :-1], None


def wrong_dtype(q, k, v, g, b, w, **options):
    return v.double(), None


def writes_its_input(q, k, v, g, b, w, **options):
    results = chunk_gdn2(q, k, v, g, b, w, **options)
    v.detach().zero_()
    return results
