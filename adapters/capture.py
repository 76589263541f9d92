# SPDX-License-Identifier: Apache-2.0
"""Records what a training or inference run feeds a function of the flash-linear-attention signature, and
what the function makes of it, into files that `gdr2` takes (docs/FILES.md). Needs PyTorch.

    import capture
    capture.patch("fla.ops.gdn2:chunk_gdn2", "captured", most=4)   # before the model imports it
    ... train a step, or generate ...

    gdr2 judge captured/0000.safetensors --contract fla.gdn2.chunk     # their results
    gdr2 verify 'file=captured/0000.safetensors'                       # any kernel on the same inputs

A call under autograd is written when its backward has run, with cotangents and gradients; any other at
once. Tensors are recorded bit for bit as the function saw them. A function with tied gates (beta) is
recorded with b = w = beta, and without their gradients.
"""

import functools
import importlib
import inspect
import pathlib

import torch

import gdr2_file

_FORMATS = {torch.float64: "F64", torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16",
            torch.int64: "I64", torch.int32: "I32"}
_DIFFERENTIABLE = ("q", "k", "v", "g", "b", "w", "beta", "initial_state", "A_log", "dt_bias")


def _entry(tensor):
    dense = tensor.detach().contiguous().cpu()
    return _FORMATS[dense.dtype], list(dense.shape), bytes(dense.flatten().view(torch.uint8).numpy())


class _Call:
    """One call that is being recorded: tensors by the names of docs/FILES.md."""

    def __init__(self, path, arguments):
        self.path, self.tensors, self.waiting = path, {}, set()
        self.metadata = self._metadata(arguments)
        self._inputs(arguments)

    def _metadata(self, a):
        metadata = {"info.source": "recorded by capture.py"}
        if a.get("scale") is not None:
            metadata["scale"] = repr(float(a["scale"]))
        if a.get("use_qk_l2norm_in_kernel"):
            metadata["l2norm"] = "1"
        if a.get("state_v_first"):
            metadata["layout"] = "vk"
        if not a.get("output_final_state"):
            metadata["ht"] = "0"
        if a.get("use_gate_in_kernel"):
            bounded = a.get("lower_bound") is not None
            metadata["gate"] = "lower_bound" if bounded else "softplus"
            if bounded:
                metadata["lower_bound"] = repr(float(a["lower_bound"]))
        return metadata

    def _inputs(self, a):
        names = {"q": "q", "k": "k", "v": "v", "g": "g", "b": "b", "w": "w", "h0": "initial_state",
                 "A_log": "A_log", "cu_seqlens": "cu_seqlens"}
        for name, argument in names.items():
            if isinstance(a.get(argument), torch.Tensor):
                self.tensors[name] = _entry(a[argument])
        q, v = a["q"], a["v"]
        if isinstance(a.get("dt_bias"), torch.Tensor):
            self.tensors["dt_bias"] = _entry(a["dt_bias"].reshape(q.shape[2:]))
        if a.get("beta") is not None:
            beta = a["beta"].detach()[..., None].to(q.dtype)
            self.tensors["b"] = _entry(beta.expand(*beta.shape[:-1], q.shape[-1]))
            self.tensors["w"] = _entry(beta.expand(*beta.shape[:-1], v.shape[-1]))
            if a["g"].dim() == 3:
                self.tensors["g"] = _entry(a["g"].detach()[..., None].expand(*a["g"].shape, q.shape[-1]))

    def expect(self, name, tensor, shape=None):
        """Records the gradient that reaches a tensor; the call is written when the last one has."""
        if not tensor.requires_grad:
            return
        self.waiting.add(name)

        def arrived(gradient):
            self.tensors[name] = _entry(gradient if shape is None else gradient.reshape(shape))
            self.waiting.discard(name)
            if not self.waiting:
                self.write()

        tensor.register_hook(arrived)

    def note(self, name, tensor):
        """Records a gradient if one comes; nothing waits for it."""
        tensor.register_hook(lambda gradient: self.tensors.__setitem__(name, _entry(gradient)))

    def write(self):
        gdr2_file.write(str(self.path), self.tensors, self.metadata)


def record(function, folder, most=16):
    """The function, whose first `most` calls are recorded into numbered files of a folder."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    signature = inspect.signature(function)
    calls = 0

    @functools.wraps(function)
    def recorded(*args, **kwargs):
        nonlocal calls
        if calls >= most:
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        path = folder / f"{calls:04d}.safetensors"
        calls += 1
        arguments = dict(bound.arguments)
        for name, parameter in signature.parameters.items():
            if parameter.kind == parameter.VAR_KEYWORD:
                arguments.update(arguments.pop(name, {}))
        call = _Call(path, arguments)
        # A view of each input: the gradient that reaches it is that of this call alone.
        for name in _DIFFERENTIABLE:
            x = arguments.get(name)
            if isinstance(x, torch.Tensor) and x.requires_grad and torch.is_grad_enabled():
                arguments[name] = x.view_as(x)
        results = function(**arguments)
        call.tensors["o"] = _entry(results[0])
        if isinstance(results[1], torch.Tensor):
            call.tensors["ht"] = _entry(results[1])
        if results[0].requires_grad:
            call.expect("do", results[0])
            if isinstance(results[1], torch.Tensor) and results[1].requires_grad:
                call.note("dht", results[1])
            for name, recorded_as in {**{n: n for n in "qkvgbw"}, "initial_state": "h0", "A_log": "A_log",
                                      "dt_bias": "dt_bias"}.items():
                tied = arguments.get("beta") is not None and name == "g" and arguments["g"].dim() == 3
                if isinstance(arguments.get(name), torch.Tensor) and not tied:
                    shape = arguments["q"].shape[2:] if name == "dt_bias" else None
                    call.expect("d" + recorded_as, arguments[name], shape)
        if not call.waiting:
            call.write()
        return results

    return recorded


def patch(target, folder, most=16):
    """Replaces MODULE:FUNCTION by its recorded self."""
    module, _, name = target.partition(":")
    module = importlib.import_module(module)
    setattr(module, name, record(getattr(module, name), folder, most))
