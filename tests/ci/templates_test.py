# SPDX-License-Identifier: Apache-2.0
"""Holds the CI templates to what they claim: they parse, their shell is clean, every option of gdr2 that they
use exists, and their commands run on small cases with a CPU kernel.

    templates_test.py SOURCE_FOLDER GDR2 FOLDER

Exits with 77 (CTest: skipped) and says why when PyYAML is not installed.
"""
import glob
import os
import shutil
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("SKIPPED: the Python package yaml (python3-yaml) is not installed")
    sys.exit(77)

source, gdr2, folder = (os.path.abspath(p) for p in sys.argv[1:4])
SMALL = {"CASES": "T=5\\ K=4\\ V=3", "KERNELS": "--kernel cpu.chunk", "SEEDS": "2"}
faults = []


def expect(what, holds):
    if not holds:
        faults.append(what)


def load(path):
    with open(os.path.join(source, path)) as file:
        return yaml.safe_load(file)


def shell(script, where, **variables):
    """Runs a script of a template in a folder where build/bin/gdr2 is the binary."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "GTEST_"))}
    return subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=where, capture_output=True, text=True, env={**env, **variables})


def workplace(name):
    where = os.path.join(folder, name)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(os.path.join(where, "build/bin"))
    os.symlink(gdr2, os.path.join(where, "build/bin/gdr2"))
    return where


def lint(name, script):
    if shutil.which("shellcheck"):
        found = subprocess.run(["shellcheck", "-s", "bash", "-S", "warning", "-e", "SC2086", "-"], input=script, capture_output=True, text=True)
        expect(f"{name}: shellcheck:\n{found.stdout}", found.returncode == 0)
    else:
        checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        expect(f"{name}: {checked.stderr}", checked.returncode == 0)


def small(script):
    """The words of CASES become one case, which is one word."""
    return script.replace("$CASES", "'T=5 K=4 V=3'")


def check_github():
    workflow = load(".github/workflows/gpu.yml")
    steps = workflow["jobs"]["verify"]["steps"]
    scripts = {step["name"]: step["run"] for step in steps if "run" in step}
    for name, script in scripts.items():
        lint(f"gpu.yml: {name}", script)
    where = workplace("github")
    for event in ("push", "schedule"):
        ran = shell(small(scripts["Verify"]), where, GITHUB_EVENT_NAME=event, **SMALL)
        expect(f"gpu.yml: Verify on {event}: {ran.stdout}{ran.stderr}", ran.returncode == 0)
        os.makedirs(os.path.join(where, "old"), exist_ok=True)
        if event == "push":
            shutil.copy(os.path.join(where, "report/report.json"), os.path.join(where, "old/report.json"))
            ran = shell(scripts["Compare with main"], where)
            expect(f"gpu.yml: Compare: {ran.stdout}{ran.stderr}", ran.returncode == 0)
    ran = shell(scripts["Summary"], where, GITHUB_STEP_SUMMARY=os.path.join(where, "page.md"))
    expect("gpu.yml: no summary", ran.returncode == 0 and os.path.getsize(os.path.join(where, "page.md")) > 100)
    os.remove(os.path.join(where, "old/report.json"))
    expect("gpu.yml: passes without a report of main", shell(scripts["Compare with main"], where).returncode != 0)


def check_gitlab():
    pipeline = load("ci/templates/gitlab-ci.yml")
    where = workplace("gitlab")
    verify = [line for line in pipeline["verify"]["script"] if not line.startswith(("ci/", "cmake"))]
    ran = shell(small("\n".join(verify)), where, **SMALL)
    expect(f"gitlab-ci.yml: verify: {ran.stdout}{ran.stderr}", ran.returncode == 0)
    for path in ("report.json", "junit.xml", "summary.md"):
        expect(f"gitlab-ci.yml: no {path}", os.path.exists(os.path.join(where, "report", path)))
    os.makedirs(os.path.join(where, "old"))
    shutil.copy(os.path.join(where, "report/report.json"), os.path.join(where, "old"))
    ran = shell(pipeline["compare"]["script"][-1], where)
    expect(f"gitlab-ci.yml: compare: {ran.stdout}{ran.stderr}", ran.returncode == 0)


def check_slurm():
    with open(os.path.join(source, "ci/templates/gdr2.slurm")) as file:
        script = file.read()
    lint("gdr2.slurm", script)
    where = workplace("slurm")
    for task in range(2):
        ran = shell(small(script), where, **{**SMALL, "KERNELS": "--kernel cpu.chunk --kernel cpu.recurrent"},
                    SLURM_ARRAY_TASK_ID=str(task), SLURM_ARRAY_TASK_COUNT="2", SLURM_ARRAY_TASK_MIN="0")
        expect(f"gdr2.slurm: task {task}: {ran.stdout}{ran.stderr}", ran.returncode == 0)
    parts = sorted(glob.glob(os.path.join(where, "report/report.*-of-2.json")))
    ran = subprocess.run([gdr2, "merge", *parts, "--json", os.path.join(where, "report/report.json")], capture_output=True, text=True)
    expect(f"gdr2.slurm: merge: {ran.stdout}{ran.stderr}", len(parts) == 2 and ran.returncode == 0)


def check_dockerfile():
    with open(os.path.join(source, "ci/templates/Dockerfile")) as file:
        words = [line.split()[0] for line in file if line.strip() and not line.startswith(("#", " "))]
    expect("Dockerfile: does not begin with FROM", words[0] == "FROM")
    expect(f"Dockerfile: unknown instructions in {words}", set(words) <= {"FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"})


check_github()
check_gitlab()
check_slurm()
check_dockerfile()
print("\n".join(faults) or "the templates parse and their commands run")
sys.exit(1 if faults else 0)
