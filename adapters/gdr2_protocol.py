# SPDX-License-Identifier: Apache-2.0
"""The child's side of docs/PROTOCOL.md, on the Python standard library alone.

`serve(kernel)` answers the requests of `gdr2` on standard input and output until the input ends. A
kernel is any object with

    description                              one line
    query(problem) -> dict                   {"supported": True, "contract": "bf16"} or
                                             {"supported": False, "reason": "..."}
    forward(problem, inputs, outputs)        fills outputs, from inputs
    backward(problem, inputs, outputs)       fills the gradients
    broken()                                 optional: after a crash, must this process end?
    prepare_timing(problem, inputs, backward), time(repetitions)    optional, for gdr2 bench

`problem` is the dict of the protocol. `inputs` and `outputs` map names to `View`s of the shared memory.
What the kernel prints goes to standard error. An exception is an answer: WrongResult makes the case
FAILED, NotThese makes it SKIPPED, anything else CRASHED.
"""

import json
import mmap
import os
import select
import struct
import sys
import threading
import traceback

VERSION = 1
WIDTHS = {"fp64": 8, "fp32": 4, "bf16": 2, "fp16": 2}
_CODES = {"fp64": "d", "fp32": "f", "fp16": "e"}  # of struct; bf16 has none


class WrongResult(Exception):
    """The kernel answered with something that cannot be its result: a shape, a dtype, None."""


class NotThese(Exception):
    """The kernel takes such a problem, but not these values (gates that are not tied, for instance)."""


class View:
    """A tensor in shared memory: `dtype`, `shape`, `strides` (elements), `at` (its first byte in
    `memory`), `storage` (first and last byte of the storage that it is part of)."""

    def __init__(self, memory, description):
        self.memory = memory
        self.dtype = description["dtype"]
        self.shape = tuple(description["shape"])
        self.strides = tuple(description["strides"])
        self.at = description["at"]
        self.storage = tuple(description["storage"])

    def _positions(self):
        """Byte positions of the elements, row-major."""
        width = WIDTHS[self.dtype]
        positions = [self.at]
        for extent, stride in zip(self.shape, self.strides):
            positions = [p + i * stride * width for p in positions for i in range(extent)]
        return positions

    def read(self):
        """The values as floats, row-major: for kernels without an array library."""
        if self.dtype == "bf16":
            return [struct.unpack("<f", b"\0\0" + self.memory[p : p + 2])[0] for p in self._positions()]
        code = "<" + _CODES[self.dtype]
        return [struct.unpack_from(code, self.memory, p)[0] for p in self._positions()]

    def write(self, values):
        """Stores floats, row-major, rounded to nearest even."""
        positions = self._positions()
        if len(values) != len(positions):
            raise WrongResult(f"{len(values)} values for {len(positions)} elements")
        for position, value in zip(positions, values):
            if self.dtype == "bf16":
                bits = struct.unpack("<I", struct.pack("<f", value))[0]
                bits = bits if value != value else bits + 0x7FFF + (bits >> 16 & 1)
                struct.pack_into("<H", self.memory, position, bits >> 16)
            else:
                struct.pack_into("<" + _CODES[self.dtype], self.memory, position, value)


def _views(memory, descriptions):
    return {name: View(memory, d) for name, d in descriptions.items()}


def _map(path):
    descriptor = os.open(path, os.O_RDWR)
    try:
        return mmap.mmap(descriptor, 0)
    finally:
        os.close(descriptor)


def _answer(kernel, request):
    call = request["call"]
    if call == "hello":
        return {"protocol": VERSION, "description": kernel.description}
    if call == "query":
        return kernel.query(request["problem"])
    if call == "time":
        return {"ms": kernel.time(request["repetitions"])}
    memory = _map(request["file"])
    inputs = _views(memory, request["inputs"])
    if call == "prepare_timing":
        return kernel.prepare_timing(request["problem"], inputs, request["backward"])
    outputs = _views(memory, request["outputs"])
    if call not in ("forward", "backward"):
        raise ValueError(f"'{call}' is no call of protocol {VERSION}")
    getattr(kernel, call)(request["problem"], inputs, outputs)
    return {"results": {n: {"dtype": v.dtype, "shape": list(v.shape)} for n, v in outputs.items()}}


def _failure(kind, error, last):
    return {"ok": False, "kind": kind, "error": f"{type(error).__name__}: {error}", "last": last}


def _respond(kernel, line):
    try:
        return {"ok": True, **_answer(kernel, json.loads(line))}
    except WrongResult as error:
        return _failure("wrong", error, False)
    except NotThese as error:
        return {"ok": False, "kind": "skipped", "error": str(error), "last": False}
    except Exception as error:  # the judge decides what it means
        traceback.print_exc()
        return _failure("crashed", error, getattr(kernel, "broken", lambda: True)())


def _end_with_input():
    """Ends the process when gdr2 is gone, even while a kernel hangs."""
    poll = select.poll()
    poll.register(0, 0)  # asks for nothing: only the end of the pipe wakes it
    while not any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll()):
        pass
    os._exit(1)


def serve(kernel):
    """Answers requests until the input ends, or after a call that crashed: what it left behind (a
    broken CUDA context, say) must not touch the next case."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with_input, daemon=True).start()
    for line in sys.stdin:
        answer = _respond(kernel, line)
        print(json.dumps(answer), file=answers, flush=True)
        if answer.get("last"):
            os._exit(1)
