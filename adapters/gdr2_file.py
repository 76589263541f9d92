# SPDX-License-Identifier: Apache-2.0
"""The files of docs/FILES.md, on the Python standard library alone: inputs of one call, and results.

`read` and `write` are the safetensors format and know nothing of what the tensors mean; `read_case` gives
the problem of the protocol with its tensors as `View`s.
"""

import json
import math
import os
import struct

from gdr2_protocol import WIDTHS, View

FORMATS = {"F64": "fp64", "F32": "fp32", "F16": "fp16", "BF16": "bf16"}
NAMES = {dtype: name for name, dtype in FORMATS.items()}
INPUTS = ("q", "k", "v", "g", "b", "w", "h0", "A_log", "dt_bias", "do", "dht")
WIDTH = {"I64": 8, "I32": 4, **{name: WIDTHS[dtype] for name, dtype in FORMATS.items()}}


def read(path):
    """Returns ({name: (dtype, shape, bytes)}, {metadata})."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], data[begin:end])
    return tensors, metadata


def write(path, tensors, metadata):
    """The file appears whole or not at all. Widest elements first, so that each stands aligned."""
    order = sorted(tensors, key=lambda name: (-WIDTH[tensors[name][0]], name))
    header, offset = {}, 0
    if metadata:
        header["__metadata__"] = {key: str(metadata[key]) for key in sorted(metadata)}
    for name in order:
        dtype, shape, data = tensors[name]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    part = f"{path}.{os.getpid()}.part"
    with open(part, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(tensors[name][2])
    os.replace(part, path)


def dense_view(dtype, shape, memory):
    """A tensor that fills a buffer of its own."""
    strides, stride = [], 1
    for extent in reversed(shape):
        strides.insert(0, stride)
        stride *= extent
    return View(memory, {"dtype": dtype, "shape": shape, "strides": strides, "at": 0,
                         "storage": [0, len(memory)]})


def empty_view(dtype, shape):
    return dense_view(dtype, shape, bytearray(math.prod(shape) * WIDTHS[dtype]))


class Case:
    """The problem, `inputs` as Views, and the tensors and metadata as they stood in the file."""

    def __init__(self, tensors, metadata):
        self.tensors, self.metadata = tensors, metadata
        self.inputs = {name: dense_view(FORMATS[dtype], shape, bytearray(data))
                       for name, (dtype, shape, data) in tensors.items() if name in INPUTS}
        self.problem = self._problem()

    def _problem(self):
        q, v, m = self.inputs["q"], self.inputs["v"], self.metadata
        (B, T, H, K), (HV, V) = q.shape, v.shape[2:]
        lens = []
        if "cu_seqlens" in self.tensors:
            dtype, shape, data = self.tensors["cu_seqlens"]
            ends = struct.unpack(f"<{shape[0]}{'q' if dtype == 'I64' else 'i'}", data)
            lens = [end - begin for begin, end in zip(ends, ends[1:])]
        given = [name for name in ("do", "dht") if name in self.inputs]
        return {"B": B, "T": T, "N": len(lens) or B, "H": H, "HV": HV, "K": K, "V": V, "lens": lens,
                "dtype": m.get("dtype", q.dtype), "gdtype": self.inputs["g"].dtype,
                "scale": float(m.get("scale", K**-0.5)), "h0": "h0" in self.inputs,
                "ht": m.get("ht", "1") == "1", "backward": bool(given),
                "loss": "both" if len(given) != 1 else given[0][1:], "layout": m.get("layout", "kv"),
                "gate": m.get("gate", "log"), "lower_bound": float(m.get("lower_bound", -5)),
                "l2norm": m.get("l2norm", "0") == "1", "neg_eigval": m.get("neg_eigval", "0") == "1"}

    def outputs(self):
        """Room for o and, when wanted, ht."""
        p, v = self.problem, self.inputs["v"]
        room = {"o": empty_view(v.dtype, v.shape)}
        if p["ht"]:
            state = (p["V"], p["K"]) if p["layout"] == "vk" else (p["K"], p["V"])
            wide = "fp64" if v.dtype == "fp64" else "fp32"
            room["ht"] = empty_view(wide, (p["N"], p["HV"], *state))
        return room

    def gradients(self, omitted=()):
        """Room for the gradients: each is as what it differentiates."""
        return {"d" + name: empty_view(view.dtype, view.shape) for name, view in self.inputs.items()
                if not name.startswith("do") and not name.startswith("dht") and "d" + name not in omitted}

    def write(self, path, results, metadata):
        """The case with results, Views as `outputs` and `gradients` give them."""
        tensors = dict(self.tensors)
        for name, view in results.items():
            tensors[name] = (NAMES[view.dtype], view.shape, bytes(view.memory))
        write(path, tensors, {**self.metadata, **metadata})


def read_case(path):
    return Case(*read(path))
