#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# adapters/gdr2_torch.py and adapters/capture.py on plain PyTorch functions (torch_functions.py), on the CPU.
# Skipped (77) where PyTorch is not.
#   torch_adapter_test.sh SOURCE_FOLDER GDR2 PYTHON
set -euo pipefail
cd "$1"
gdr2=$2 python=$3
"$python" -c 'import torch' 2>/dev/null || { echo "no PyTorch for $python"; exit 77; }
export PYTHONPATH=tests/foreign:adapters:${PYTHONPATH:-}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

kernel() { echo "torch=exec:$python adapters/gdr2_torch.py --dtypes bf16,fp16,fp32,fp64 --target torch_functions:$1"; }

expect() { # expect STATUS TEXT WORDS...: gdr2's exit code, and a text in what it says
  local status=$1 text=$2 got=0
  shift 2
  "$gdr2" "$@" >"$folder/out" 2>&1 || got=$?
  if [ "$got" -ne "$status" ] || ! grep -qF -- "$text" "$folder/out"; then
    cat "$folder/out"
    echo "torch_adapter_test: exit code $got, expected $status and '$text': gdr2 $*"
    exit 1
  fi
}

# The recurrence in fp64 passes for whatever contract, in every layout.
expect 0 '6 PASSED' verify 'T=20 K=8 V=8' 'T=20 H=2 K=8 V=4 h0=1 l2norm=1 view=fused dtype=fp32' \
  'H=2 K=8 V=4 lens=3,0,9 h0=1 layout=vk dtype=fp16 view=padded' 'T=20 K=8 V=4 loss=ht dtype=fp32 neg_eigval=1' \
  'T=20 K=8 V=4 loss=o ht=0 dtype=fp16 gdtype=fp16 scale=0.5' 'T=9 B=2 K=8 V=4 pass=fwd' \
  --strict --kernel "$(kernel chunk_gdn2)"
expect 0 'gradients that it does not give: db dw' verify 'T=20 H=2 K=8 V=8 recipe=tied h0=1' -v --strict --kernel "$(kernel chunk_kda)"
expect 0 'gradients that it does not give: db dw dg' verify 'T=20 H=2 K=8 V=8 recipe=tied_decay' -v --strict --kernel "$(kernel chunk_gated_delta_rule)"
expect 3 'the gates of this function are tied' verify 'T=20 K=8 V=8' --kernel "$(kernel chunk_kda)"
expect 3 'it has no value heads of their own' verify 'T=20 HV=2 K=8 V=8' --kernel "$(kernel chunk_gdn2)"
expect 1 'o has shape [1, 20, 1, 7], not [1, 20, 1, 8]' verify 'T=20 K=8 V=8 ht=0' --kernel "$(kernel wrong_shape)"
expect 1 'o is torch.float64, not torch.bfloat16' verify 'T=20 K=8 V=8 ht=0' --kernel "$(kernel wrong_dtype)"
expect 1 'v: the kernel wrote to an input' verify 'T=20 K=8 V=8' --kernel "$(kernel writes_its_input)"
expect 0 'forward+backward' bench 'T=20 K=8 V=8' --kernel cpu.chunk --peer "$(kernel chunk_gdn2)" --rounds 2 --repetitions 2

# By file: out, through the function, and back.
"$gdr2" export 'T=20 H=2 K=8 V=4 h0=1 layout=vk' --out "$folder/case.safetensors" >/dev/null
"$python" adapters/gdr2_torch.py --target torch_functions:chunk_gdn2 --file "$folder/case.safetensors" \
  --out "$folder/done.safetensors"
expect 0 '1 PASSED' judge "$folder/done.safetensors"

# What a run feeds a function, with and without a backward, and with tied gates.
"$python" - "$folder" <<'END'
import sys

import torch

import capture
import torch_functions

folder = sys.argv[1]
torch.manual_seed(1)
q, k, v, b, w = (torch.rand(1, 12, 2, 8, dtype=torch.bfloat16) / 4 for _ in range(5))
g, h0 = -torch.rand(1, 12, 2, 8) / 10, torch.randn(1, 2, 8, 8)
beta = torch.rand(1, 12, 2, dtype=torch.bfloat16)
for x in (q, k, v, b, w, g, h0, beta):
    x.requires_grad_()
gdn2 = capture.record(torch_functions.chunk_gdn2, folder + "/gdn2")
o, ht = gdn2(2 * q, k + q, v, g, b, w, scale=0.25, initial_state=h0, output_final_state=True, state_v_first=True)
(o.float().square().sum() + ht.sum()).backward()
with torch.no_grad():
    gdn2(q, k, v, g, b, w, scale=0.25)
o, _ = capture.record(torch_functions.chunk_kda, folder + "/kda")(q, k, v, g, beta, scale=0.25)
o.float().square().sum().backward()
END
expect 0 '3 PASSED' judge "$folder"/gdn2/000{0,1}.safetensors "$folder/kda/0000.safetensors"
expect 0 '1 PASSED' verify "file=$folder/gdn2/0000.safetensors" --kernel cpu.chunk
