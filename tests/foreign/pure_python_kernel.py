# SPDX-License-Identifier: Apache-2.0
"""A child of docs/PROTOCOL.md without numpy: the token recurrence on lists, right on all problems but those
of 13 tokens, where it has the fault that its argument names."""

import json
import math
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "adapters"))
from gdr2_protocol import NotThese, WrongResult, serve  # noqa: E402


def recurrence(p, x):
    """o [B, T, HV, V] and ht [B, HV, K, V], flat; equal lengths."""
    B, T, H, HV, K, V = (p[n] for n in ("B", "T", "H", "HV", "K", "V"))
    o, states = [0.0] * (B * T * HV * V), []
    for i in range(B):
        for hv in range(HV):
            begin = (i * HV + hv) * K * V
            S = x["h0"][begin : begin + K * V] if p["h0"] else [0.0] * (K * V)
            for t in range(T):
                key, value = ((i * T + t) * H + hv * H // HV) * K, ((i * T + t) * HV + hv) * V
                u = [x["w"][value + c] * x["v"][value + c] for c in range(V)]
                for d in range(K):
                    decay = math.exp(x["g"][key + d])
                    e = x["b"][key + d] * x["k"][key + d]
                    for c in range(V):
                        S[d * V + c] *= decay
                        u[c] -= e * S[d * V + c]
                for d in range(K):
                    for c in range(V):
                        S[d * V + c] += x["k"][key + d] * u[c]
                        o[value + c] += p["scale"] * x["q"][key + d] * S[d * V + c]
            states += S
    return o, states


class Kernel:
    description = "token recurrence on lists"

    def __init__(self, fault):
        self.fault = fault

    def query(self, p):
        if p["backward"] or p["lens"] or p["l2norm"] or p["gate"] != "log" or p["layout"] != "kv":
            return {"supported": False, "reason": "it takes the forward pass of equal lengths"}
        return {"supported": True, "contract": p["dtype"] if self.fault == "declares" else "fp32,solve=none"}

    def forward(self, p, inputs, outputs):
        fault = self.fault if p["T"] == 13 else ""
        if fault == "raises":
            raise RuntimeError("out of luck")
        if fault == "is_wrong":
            raise WrongResult("o has one channel too few")
        if fault == "skips":
            raise NotThese("these gates are not tied")
        if fault == "hangs":
            time.sleep(1000)
        if fault == "exits":
            print("could not go on", file=sys.stderr)
            os._exit(3)
        o, ht = recurrence(p, {name: view.read() for name, view in inputs.items()})
        outputs["o"].write(o)
        if "ht" in outputs and fault != "forgets_ht":
            outputs["ht"].write(ht)
        if fault == "writes_input":
            inputs["v"].write([0.0] * math.prod(inputs["v"].shape))
        if fault == "prints":
            print('{"ok": true}')
        if fault == "other_dtype":
            outputs["o"].dtype = "fp64"
        if fault == "shrinks_file":
            os.ftruncate(3, 0)

    def prepare_timing(self, p, inputs, backward):
        self.prepared = (p, {name: view.read() for name, view in inputs.items()})
        return {"device": "a Python interpreter"}

    def time(self, repetitions):
        return [_milliseconds(*self.prepared) for _ in range(repetitions)]


def _milliseconds(p, values):
    begin = time.perf_counter()
    recurrence(p, values)
    return 1e3 * (time.perf_counter() - begin)


def talk_nonsense():
    for number, line in enumerate(sys.stdin):
        call = json.loads(line)["call"]
        print(json.dumps({"ok": True, "protocol": 1, "supported": True}) if call != "forward" else "what?", flush=True)


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else ""
    talk_nonsense() if given == "nonsense" else serve(Kernel(given))
