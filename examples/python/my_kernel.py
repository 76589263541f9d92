# SPDX-License-Identifier: Apache-2.0
"""A kernel as a plain function on numpy arrays, for adapters/gdr2_plain.py: the token recurrence.

    S <- Diag(exp g) S;   u = w * v - S^T (b * k);   S <- S + k u^T;   o = scale S^T q
"""

import numpy

CONTRACT = "fp32,solve=none"  # fp32 throughout, token by token


def unsupported(problem):
    if problem["lens"] or problem["gate"] != "log" or problem["l2norm"] or problem["layout"] != "kv":
        return "it takes equal lengths, a log decay, and states [K, V]"


def forward(problem, inputs):
    q, k, v, g, b, w = (inputs[name].astype(numpy.float32) for name in "qkvgbw")
    heads, group = problem["HV"], problem["HV"] // problem["H"]
    q, k, g, b = (numpy.repeat(x, group, axis=2) for x in (q, k, g, b))
    b = 2 * b if problem["neg_eigval"] else b
    S = inputs["h0"].astype(numpy.float32) if problem["h0"] else numpy.zeros(
        (problem["B"], heads, problem["K"], problem["V"]), numpy.float32)
    o = numpy.empty(v.shape, numpy.float32)
    for t in range(problem["T"]):
        S = numpy.exp(g[:, t])[..., None] * S
        u = w[:, t] * v[:, t] - numpy.einsum("bhk,bhkv->bhv", b[:, t] * k[:, t], S)
        S = S + k[:, t][..., None] * u[..., None, :]
        o[:, t] = numpy.float32(problem["scale"]) * numpy.einsum("bhk,bhkv->bhv", q[:, t], S)
    return {"o": o, "ht": S}
