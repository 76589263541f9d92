#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel libraries with one fault each, from the edits in properties/power/cuda_mutants.json.

    cuda_mutants.py check                        every edit applies exactly once to the sources
    cuda_mutants.py build BUILD OUT [NAME...]    OUT/<name>.so for each edit (or those named)
    cuda_mutants.py nvcc OBJECTS OUT [NAME...]   the same with nvcc alone, without a build of the project
    cuda_mutants.py hunt GDR2 OUT [NAME...]      holds each library against properties/power/cuda_cases.txt
                                                 or --set, in a process of its own; OUT/power.json

`build` takes compile commands and objects from BUILD, where gdr2_cuda_on_host_kernel has been built:
the CUDA sources as plain C++. Only translation units that see the edited file are compiled again. With
--target gdr2_cuda the objects are those of nvcc, which must have been compiled position-independent.
`nvcc` compiles the sources of kernels/cuda itself, for the machine code of --arch: first the right ones, into
OBJECTS, of which it makes OUT/right.so, then what an edit touches. Machine code is not compressed there, so that
libraries that differ in a line make a small archive. Each edit has its folder of sources in OUT, and a compiler
cache (ccache) is used when there is one: a second run compiles what has changed since.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "properties/power/cuda_mutants.json"


def mutants(names):
    every = json.loads(LIST.read_text())["mutants"]
    unknown = set(names) - {m["name"] for m in every}
    if unknown:
        sys.exit(f"cuda_mutants: no such mutant: {', '.join(sorted(unknown))}")
    return [m for m in every if not names or m["name"] in names]


def check(every):
    """What is wrong with the list, in lines."""
    seen = set()
    for m in every:
        if m["name"] in seen:
            yield f"{m['name']}: named twice"
        seen.add(m["name"])
        count = (ROOT / m["file"]).read_text().count(m["old"])
        if count != 1:
            yield f"{m['name']}: its text stands {count} times in {m['file']}: {m['old']!r}"
        if m["old"] == m["new"]:
            yield f"{m['name']}: changes nothing"


class Build:
    def __init__(self, folder, target):
        self.folder = folder.resolve()
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        mark = f"CMakeFiles/{target}.dir/"
        self.units = [c for c in commands if mark in c["command"]]
        if not self.units:
            sys.exit(f"cuda_mutants: {folder} has no target {target}")
        self.deps = self.read_deps()

    def object_of(self, unit):
        words = shlex.split(unit["command"])
        return words[words.index("-o") + 1]

    def read_deps(self):
        objects = [self.object_of(u) for u in self.units]
        text = subprocess.run(["ninja", "-C", self.folder, "-t", "deps", *objects], check=True,
                              capture_output=True, text=True).stdout
        deps, current = {}, None
        for line in text.splitlines():
            if line.startswith(" "):
                deps[current].add((self.folder / line.strip()).resolve())
            elif ":" in line:
                current = line.split(":")[0]
                deps[current] = set()
        return deps

    def sees(self, unit, file):
        path = (ROOT / file).resolve()
        return path == pathlib.Path(unit["file"]).resolve() or path in self.deps[self.object_of(unit)]

    def library(self, mutant, out):
        """OUT/<name>.so; returns an error text, or nothing."""
        tree = out / (mutant["name"] + ".sources")
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(ROOT / "kernels/cuda", tree / "kernels/cuda")
        spoiled = tree / mutant["file"]
        text = spoiled.read_text()
        spoiled.write_text(text.replace(mutant["old"], mutant["new"]))
        objects = []
        for number, unit in enumerate(self.units):
            if not self.sees(unit, mutant["file"]):
                objects.append(str(self.folder / self.object_of(unit)))
                continue
            objects.append(str(tree / f"{number}.o"))
            failed = self.compile(unit, tree, objects[-1])
            if failed:
                return f"{mutant['name']}: {failed}"
        link = self.link(objects, out / (mutant["name"] + ".so"))
        done = subprocess.run(link, capture_output=True, text=True)
        shutil.rmtree(tree)
        return f"{mutant['name']}: {done.stderr}" if done.returncode else None

    def link(self, objects, target):
        return ["c++", "-shared", "-o", str(target), *objects]

    def compile(self, unit, tree, target):
        words = shlex.split(unit["command"])
        words[words.index("-o") + 1] = target
        source = words.index("-c") + 1
        inside = pathlib.Path(unit["file"]).resolve()
        if (ROOT / "kernels/cuda") in inside.parents:
            words[source] = str(tree / inside.relative_to(ROOT))
        words.insert(2 if words[0].endswith("ccache") else 1, f"-I{tree}")
        done = subprocess.run(words, cwd=unit["directory"], capture_output=True, text=True)
        return done.stderr[-2000:] if done.returncode else None


class NvccBuild(Build):
    """The sources as kernels/cuda/sources.cmake lists them, compiled here."""

    def __init__(self, folder, arch, jobs):
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        listed = (ROOT / "kernels/cuda/sources.cmake").read_text()
        names = re.findall(r"[\w/]+\.(?:cu|cpp)\b", listed)
        code = f"-gencode=arch={arch.replace('sm_', 'compute_')},code={arch}"
        nvcc = [*([shutil.which("ccache")] if shutil.which("ccache") else []), "nvcc"]
        flags = ["-O3", "-DNDEBUG", "-std=c++20", "-Xcompiler=-fPIC", "--expt-relaxed-constexpr", code,
                 "--no-compress", '-DGDR2_CUDA_VERSION="mutant"']
        self.units = [dict(file=str(ROOT / "kernels/cuda" / name), directory=str(self.folder),
                           command=shlex.join([*nvcc, *flags, f"-I{ROOT}", "-x", "cu", "-c",
                                               str(ROOT / "kernels/cuda" / name), "-o", name.replace("/", "_") + ".o"]))
                      for name in names]
        self.deps = {self.object_of(u): self.includes(pathlib.Path(u["file"])) for u in self.units}
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for error in pool.map(lambda u: self.compile(u, ROOT, str(self.folder / self.object_of(u))),
                                  [u for u in self.units if self.stale(u)]):
                if error:
                    sys.exit(f"cuda_mutants: {error}")

    def stale(self, unit):
        target = self.folder / self.object_of(unit)
        newest = max(file.stat().st_mtime for file in self.deps[self.object_of(unit)])
        return not target.exists() or target.stat().st_mtime < newest

    def includes(self, file, seen=None):
        """A file of the project and those that it includes, directly or not."""
        seen = set() if seen is None else seen
        if file in seen or not file.exists():
            return seen
        seen.add(file)
        for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE):
            self.includes(ROOT / name, seen)
        return seen

    def link(self, objects, target):
        return ["nvcc", "-shared", "-o", str(target), *objects]

    def right(self, target):
        objects = [str(self.folder / self.object_of(u)) for u in self.units]
        subprocess.run(self.link(objects, target), check=True)


def hunt(mutant, gdr2, out, options):
    """Leaves OUT/<name>.json, a report of gdr2 power; returns a line."""
    entry = ":decode" if mutant["name"].startswith("decode.") else ""
    library = f"{(out / mutant['name']).resolve()}.so{entry}"
    report = out / (mutant["name"] + ".json")
    report.unlink(missing_ok=True)
    words = [str(gdr2), "power", "--library", library, "--timeout", "60", "--json", str(report)]
    for name in options.set:
        words += ["--set", name]
    if options.right:
        words += ["--right", str(options.right.resolve()) + entry]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=options.seconds)
        end = f"was ended by signal {-done.returncode}"
        if done.returncode >= 0 and not report.exists():  # usage, a missing library: nothing was judged
            sys.exit(f"cuda_mutants: {mutant['name']}: {done.stderr}")
    except subprocess.TimeoutExpired:
        end = f"did not end in {options.seconds} s"
    if report.exists():
        study = json.loads(report.read_text())
    else:  # the process is gone: that is a catch of its own kind
        study = empty_study(gdr2, report)
        study["power"]["mutants"] = [dict(leg="process", state="caught", line="", reason=f"the process {end}",
                                          judged=0, differing=0, law="", law_line="", rules=[])]
    record = study["power"]["mutants"][0]
    record.update(name="cuda." + mutant["name"], kind=mutant["kind"], what=mutant["what"])
    if record["state"] == "survived" and mutant.get("equivalent"):
        record.update(state="equivalent", reason=mutant["equivalent"])
    report.write_text(json.dumps(study, indent=1))
    return f"{record['state']:<10} {mutant['name']:<34} {record['leg']:<8} {record['line']}"


def empty_study(gdr2, report):
    subprocess.run([str(gdr2), "power", "--no-mutants", "T=1 K=2 V=2 pass=fwd", "--json", str(report)],
                   capture_output=True, check=True)
    return json.loads(report.read_text())


def hunt_all(options):
    chosen = [m for m in mutants(options.names) if (options.out / (m["name"] + ".so")).exists()]
    if not chosen:
        sys.exit(f"cuda_mutants: no libraries in {options.out}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(lambda m: hunt(m, options.build.resolve(), options.out.resolve(), options), chosen):
            print(line, flush=True)
    words = [str(options.build.resolve()), "power", "--json", str(options.out / "power.json"),
             "--least", str(options.least)]
    for m in chosen:
        words += ["--merge", str(options.out / (m["name"] + ".json"))]
    sys.exit(subprocess.run(words).returncode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["check", "build", "nvcc", "hunt"])
    parser.add_argument("build", nargs="?", type=pathlib.Path)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", default="gdr2_cuda_on_host")
    parser.add_argument("--arch", default="sm_90a", help="of nvcc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--right", type=pathlib.Path, help="the library without a fault")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--least", type=float, default=0, help="per cent of the libraries hunted that must be caught")
    parser.add_argument("--seconds", type=int, default=600, help="of each hunt")
    options = parser.parse_intermixed_args()
    wrong = list(check(mutants([])))
    if wrong:
        sys.exit("\n".join(wrong))
    if options.what == "check":
        print(f"{len(mutants([]))} edits, each applies once")
        return
    if not options.out:
        sys.exit(f"cuda_mutants: {options.what} needs two places; --help says which")
    if options.what == "hunt":
        options.set = options.set or ["properties/power/cuda_cases.txt"]
        hunt_all(options)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.what == "nvcc":
        build = NvccBuild(options.build, options.arch, options.jobs)
        build.right(options.out / "right.so")
    else:
        build = Build(options.build, options.target)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for error in pool.map(lambda m: build.library(m, options.out.resolve()), mutants(options.names)):
            if error:
                failed += 1
                print(error, file=sys.stderr)
    print(f"{len(mutants(options.names)) - failed} libraries in {options.out}, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
