#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Verifies a plain Python function on numpy arrays: the example of an adapter without a framework.

    gdr2 verify 'T=70 K=16 V=8' --kernel 'exec:python3 adapters/gdr2_plain.py examples/numpy_kernel.py'

The file holds `forward(problem, inputs)` and, if it has a backward, `backward(problem, inputs)`. Both
get a dict of float64 arrays by name (bf16 values too, exactly) and return a dict of arrays by name; what
they return is rounded to the dtype of the result. `CONTRACT` in the file says in which arithmetic they
compute, by the words of docs/NUMERICS.md; without it: in that of the problem's dtype.
"""

import runpy
import sys

import numpy

from gdr2_protocol import WIDTHS, WrongResult, serve

_TYPES = {"fp64": numpy.float64, "fp32": numpy.float32, "fp16": numpy.float16, "bf16": numpy.uint16}


def array(view):
    """The elements where they lie in shared memory; bf16 as its bits."""
    strides = [stride * WIDTHS[view.dtype] for stride in view.strides]
    return numpy.ndarray(view.shape, _TYPES[view.dtype], view.memory, view.at, strides)


def read(view):
    if view.dtype != "bf16":
        return array(view).astype(numpy.float64)
    return (array(view).astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)


def write(name, view, values):
    values = numpy.asarray(values)
    if values.shape != view.shape:
        raise WrongResult(f"{name} has shape {list(values.shape)}, not {list(view.shape)}")
    if view.dtype != "bf16":
        array(view)[...] = values
        return
    bits = numpy.ascontiguousarray(values.astype(numpy.float32)).view(numpy.uint32).reshape(view.shape)
    rounded = bits + 0x7FFF + (bits >> 16 & 1)
    array(view)[...] = numpy.where(numpy.isnan(values), 0x7FC0, rounded >> 16)


class PlainKernel:
    def __init__(self, path):
        self.functions = runpy.run_path(path)
        self.description = f"Python functions of {path}"
        if "forward" not in self.functions:
            raise SystemExit(f"{path}: no function forward(problem, inputs)")

    def query(self, problem):
        if problem["backward"] and "backward" not in self.functions:
            return {"supported": False, "reason": "it has no backward"}
        refuse = self.functions.get("unsupported", lambda problem: None)(problem)
        if refuse:
            return {"supported": False, "reason": refuse}
        return {"supported": True, "contract": self.functions.get("CONTRACT", problem["dtype"])}

    def forward(self, problem, inputs, outputs):
        self.call("forward", problem, inputs, outputs)

    def backward(self, problem, inputs, outputs):
        self.call("backward", problem, inputs, outputs)

    def call(self, function, problem, inputs, outputs):
        results = self.functions[function](problem, {n: read(v) for n, v in inputs.items()})
        for name, view in outputs.items():
            if results.get(name) is None:
                raise WrongResult(f"{function} returned no {name}")
            write(name, view, results[name])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: gdr2_plain.py FILE.py")
    serve(PlainKernel(sys.argv[1]))
