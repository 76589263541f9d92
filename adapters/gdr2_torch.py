#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies a PyTorch function that has the signature of flash-linear-attention. Needs PyTorch, no more.

    gdr2 verify --set smoke --kernel 'exec:python3 adapters/gdr2_torch.py --target fla.ops.gdn2:chunk_gdn2'

The function gets q, k, v, g and its gates (b and w, or the tied beta of KDA and of the gated delta rule),
keywords as the problem asks, and returns (o, final_state). The backward is autograd's. Tensors go to the
GPU when there is one. Without gdr2 at hand, on a file of docs/FILES.md:

    python3 adapters/gdr2_torch.py --target fla.ops.gdn2:chunk_gdn2 --file case.safetensors --out done.safetensors
"""

import argparse
import importlib
import inspect
import sys
import time

import torch

import gdr2_file
from gdr2_protocol import WIDTHS, NotThese, View, WrongResult, serve

TYPES = {"fp64": torch.float64, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FLUSH_BYTES = 256 << 20  # more than any L2 cache
WARM_UP = 3
CEILING_BYTES, CEILING_SIZE = 1 << 30, 8192

# What the gradients of tied gates are sums of cannot be told apart again.
OMITTED = {"gdn2": [], "kda": ["db", "dw"], "gated_delta_rule": ["db", "dw", "dg"]}


def host_tensor(view):
    """The view as a tensor over the shared memory itself."""
    begin, end = view.storage
    dtype, width = TYPES[view.dtype], WIDTHS[view.dtype]
    if end == begin or 0 in view.shape:
        return torch.empty(view.shape, dtype=dtype)
    storage = torch.frombuffer(view.memory, dtype=dtype, count=(end - begin) // width, offset=begin)
    return storage.as_strided(view.shape, view.strides, (view.at - begin) // width)


class Inputs:
    """Inputs on the device, strides and shared storages kept, so that a fused or padded tensor is one."""

    def __init__(self, views, device):
        self.views, self.device, self.storages, self.tensors = views, device, {}, {}
        for name, view in views.items():
            host = host_tensor(view)
            if device.type == "cpu" or host.numel() == 0:
                self.tensors[name] = host.to(device)
                continue
            if view.storage not in self.storages:
                begin, end = view.storage
                flat = View(view.memory, {"dtype": view.dtype, "shape": [(end - begin) // WIDTHS[view.dtype]],
                                          "strides": [1], "at": begin, "storage": view.storage})
                self.storages[view.storage] = (host_tensor(flat), host_tensor(flat).to(device))
            base = self.storages[view.storage][1]
            self.tensors[name] = base.as_strided(host.shape, host.stride(), host.storage_offset())

    def hand_back(self):
        """What the function may have written into its inputs goes back, for the judge to see."""
        for host, device in self.storages.values():
            host.copy_(device)


def tied(name, gate):
    """The one value that all channels of a gate share: [..., C] -> [...]."""
    value = gate[..., 0]
    if not bool((gate == value[..., None]).all()):
        raise NotThese(f"the gates of this function are tied, and {name} differs between channels")
    return value


class TorchKernel:
    def __init__(self, target, family, forward_only, dtypes, options):
        module, _, function = target.partition(":")
        self.function = getattr(importlib.import_module(module), function)
        self.parameters = inspect.signature(self.function).parameters
        self.family = family or self._family(function)
        self.forward_only = forward_only or "recurrent" in function
        self.dtypes, self.options = dtypes, options
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.description = f"{target} (PyTorch {torch.__version__}, {self._device_name()})"
        self.prepared = None

    def _family(self, function):
        if "w" in self.parameters and "b" in self.parameters:
            return "gdn2"
        return "kda" if "kda" in function else "gated_delta_rule"

    def _device_name(self):
        return torch.cuda.get_device_name() if self.device.type == "cuda" else "CPU"

    def _takes(self, *names):
        any_keyword = any(p.kind == p.VAR_KEYWORD for p in self.parameters.values())
        return any_keyword or all(name in self.parameters for name in names)

    def query(self, problem):
        reason = self.why_not(problem)
        if reason:
            return {"supported": False, "reason": reason}
        return {"supported": True, "contract": problem["dtype"], "omits": OMITTED[self.family]}

    def why_not(self, p):
        tied_gates = self.family != "gdn2"
        reasons = {
            "it is forward only": p["backward"] and self.forward_only,
            f"it takes {', '.join(self.dtypes)}": p["dtype"] not in self.dtypes,
            "it has no value heads of their own": self.family == "gdn2" and not self.forward_only
                                                  and p["HV"] != p["H"],
            "it does not normalise q and k": p["l2norm"] and not self._takes("use_qk_l2norm_in_kernel"),
            "it has no gate in the kernel": p["gate"] != "log" and (
                self.family == "gated_delta_rule" or not self._takes("use_gate_in_kernel")),
            "with a gate in the kernel it has no value heads of their own": p["gate"] != "log"
                                                                          and p["HV"] != p["H"],
            "it does not take packed sequences": p["lens"] and not self._takes("cu_seqlens"),
            "its states are [K, V]": p["layout"] == "vk" and not self._takes("state_v_first"),
            "doubling b is not doubling its beta": p["neg_eigval"] and tied_gates,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _arguments(self, p, t):
        """Keywords of the call, from tensors by name."""
        group = p["HV"] // p["H"]

        def spread(x):  # a key head's gate, to the value heads that share it
            return x.repeat_interleave(group, 2) if group > 1 else x

        b = 2 * t["b"] if p["neg_eigval"] else t["b"]
        arguments = {"q": t["q"], "k": t["k"], "v": t["v"], "g": spread(t["g"])}
        if self.family == "gdn2":
            arguments.update(b=spread(b), w=t["w"])
        else:
            beta = tied("b", spread(b).detach())
            if not torch.equal(beta, tied("w", t["w"].detach())):
                raise NotThese("the gates of this function are tied, and b is not w")
            arguments["beta"] = beta
        if self.family == "gated_delta_rule":
            arguments["g"] = tied("g", spread(t["g"]).detach())
        arguments.update(scale=p["scale"], initial_state=t.get("h0"), output_final_state=p["ht"])
        if p["l2norm"]:
            arguments["use_qk_l2norm_in_kernel"] = True
        if p["layout"] == "vk":
            arguments["state_v_first"] = True
        if p["gate"] != "log":
            arguments.update(use_gate_in_kernel=True, A_log=t["A_log"], dt_bias=t["dt_bias"].reshape(-1))
        if p["gate"] == "lower_bound":
            arguments["lower_bound"] = p["lower_bound"]
        if p["lens"]:
            ends = torch.tensor([0] + p["lens"], dtype=torch.int64).cumsum(0)
            arguments["cu_seqlens"] = ends.to(self.device)
        return {**arguments, **self.options}

    def _outputs(self, p, tensors):
        results = self.function(**self._arguments(p, tensors))
        if not isinstance(results, tuple) or len(results) < 2:
            raise WrongResult("the function returned no (o, final_state)")
        return {"o": results[0], "ht": results[1]} if p["ht"] else {"o": results[0]}

    def forward(self, p, inputs, outputs):
        held = Inputs(inputs, self.device)
        with torch.no_grad():
            results = self._outputs(p, held.tensors)
        self._deliver(held, results, outputs)

    def _gradients(self, p, tensors, due):
        """Gradients by name ("dq"), of the outputs that have a cotangent."""
        leaves = {n: tensors[n].detach().requires_grad_() for n in (name[1:] for name in due)}
        results = self._outputs({**p, "ht": "dht" in tensors}, {**tensors, **leaves})
        pairs = [(results[n], tensors["d" + n]) for n in ("o", "ht") if "d" + n in tensors]
        gradients = torch.autograd.grad([y for y, _ in pairs], list(leaves.values()),
                                        [dy for _, dy in pairs], allow_unused=True)
        return {"d" + n: torch.zeros_like(leaves[n]) if d is None else d
                for n, d in zip(leaves, gradients)}

    def backward(self, p, inputs, outputs):
        held = Inputs(inputs, self.device)
        self._deliver(held, self._gradients(p, held.tensors, list(outputs)), outputs)

    def _deliver(self, held, results, outputs):
        for name, view in outputs.items():
            result = results[name]
            if not isinstance(result, torch.Tensor):
                raise WrongResult(f"{name} is {result!r}, not a tensor")
            if tuple(result.shape) != view.shape:
                raise WrongResult(f"{name} has shape {list(result.shape)}, not {list(view.shape)}")
            if result.dtype != TYPES[view.dtype]:
                raise WrongResult(f"{name} is {result.dtype}, not {TYPES[view.dtype]}")
            if result.numel():
                host_tensor(view).copy_(result.detach())
        held.hand_back()

    def broken(self):
        """Whether the CUDA context is lost: after an illegal access every later call fails."""
        if self.device.type != "cuda":
            return False
        try:
            torch.cuda.synchronize()
        except Exception:
            return True
        torch.cuda.empty_cache()
        return False

    def prepare_timing(self, p, inputs, backward):
        self.prepared = None
        tensors = {n: x.clone() for n, x in Inputs(inputs, self.device).tensors.items()}
        due = ["dq", "dk", "dv", "dg", "db", "dw"] + (["dh0"] if p["h0"] else [])
        due = [name for name in due if name not in OMITTED[self.family]]

        def call():
            if backward:
                return self._gradients(p, tensors, due)
            with torch.no_grad():
                return self._outputs(p, tensors)

        self.prepared = call
        for _ in range(WARM_UP):
            call()
        if self.device.type != "cuda":
            return {"device": self._device_name()}
        return {"device": self._device_name(), "memory_bytes": self._peak(call), "kernels_ms": kernels_ms(call),
                **ceilings(TYPES[p["dtype"]] if p["dtype"] in TYPES else torch.float32)}

    @staticmethod
    def _peak(call):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before

    def time(self, repetitions):
        if self.device.type != "cuda":
            return [wall_ms(self.prepared) for _ in range(repetitions)]
        flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device=self.device)
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repetitions)]
        for begin, end in events:
            flush.zero_()
            begin.record()
            self.prepared()
            end.record()
        torch.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in events]


def wall_ms(call):
    begin = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begin)


def kernels_ms(call):
    """Device time of the kernels of one call, without the gaps between them; 0 without a profiler."""
    try:
        from torch.profiler import ProfilerActivity, profile
        torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda").zero_()  # caches cold, as when it is timed
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiled:
            call()
            torch.cuda.synchronize()
        return sum(e.self_device_time_total for e in profiled.key_averages()) / 1e3
    except (ImportError, AttributeError, RuntimeError) as error:
        print(f"no profile: {error}", file=sys.stderr)
        return 0


_CEILINGS = {}


def ceilings(dtype):
    """What the device reaches: bytes read and written by a copy, operations of a large product."""
    if dtype not in _CEILINGS:
        x = torch.empty(CEILING_BYTES, dtype=torch.int8, device="cuda")
        y = torch.empty_like(x)
        a = torch.randn(CEILING_SIZE, CEILING_SIZE, device="cuda").to(dtype)
        copy, product = best_ms(lambda: y.copy_(x)), best_ms(lambda: a @ a)
        _CEILINGS[dtype] = {"copy_gb_per_s": 2 * CEILING_BYTES / copy / 1e6,
                            "tensor_tflop_per_s": 2 * CEILING_SIZE**3 / product / 1e9}
    return _CEILINGS[dtype]


def best_ms(call, repetitions=10):
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repetitions)]
    for begin, end in events:
        begin.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return min(begin.elapsed_time(end) for begin, end in events)


def run_file(kernel, path, out):
    """Adds what the function makes of the inputs in a file to them."""
    content = gdr2_file.read_case(path)
    reason = kernel.why_not(content.problem)
    if reason:
        raise SystemExit(f"{path}: {reason}")
    results = content.outputs()
    kernel.forward(content.problem, content.inputs, results)
    if content.problem["backward"]:
        gradients = content.gradients(OMITTED[kernel.family])
        kernel.backward(content.problem, content.inputs, gradients)
        results.update(gradients)
    content.write(out, results, {"info.source": kernel.description})


def option(text):
    name, _, value = text.partition("=")
    known = {"true": True, "false": False, "none": None}
    try:
        return name, known[value] if value in known else float(value) if "." in value else int(value)
    except ValueError:
        return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True, help="MODULE:FUNCTION")
    parser.add_argument("--family", choices=list(OMITTED), help="whose gates it has; default: by its name")
    parser.add_argument("--forward-only", action="store_true")
    parser.add_argument("--dtypes", default="bf16,fp16,fp32,tf32", help="of the problems it takes")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="a keyword of every call, as safe_gate=true")
    parser.add_argument("--file", help="run on the inputs of this file instead of serving gdr2")
    parser.add_argument("--out", help="where inputs and results go")
    given = parser.parse_args()
    kernel = TorchKernel(given.target, given.family, given.forward_only, given.dtypes.split(","),
                         dict(option(text) for text in given.option))
    if given.file:
        run_file(kernel, given.file, given.out or given.file)
    else:
        serve(kernel)


if __name__ == "__main__":
    main()
