"""Emitted C on many machines: which compilers build the self-test, at which levels, and what runs it."""
import collections
import os
import re
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
LEVELS = ("-O0", "-O2", "-O3", "-Os")
SECONDS = 1800  # a run of a second at home takes a minute in an emulator, and -O0 ten times as long

Machine = collections.namedtuple("Machine", "name compiler backend levels", defaults=[LEVELS])


def linux(name, triplet, emulator):
    return Machine(name, [triplet + "-gcc", "-static"], [emulator])


def cortex_m(name, board, memory, *flags):
    return Machine(name, ["arm-none-eabi-gcc", f"-mcpu={name}", "-mthumb", *flags, "--specs=rdimon.specs", "-nostartfiles",
                          f"-Wl,-T,{HERE}/{memory}_memory.ld,-T,{HERE}/cortex_m.ld", f"{HERE}/cortex_m_start.c"],
                   ["qemu-system-arm", "-M", board, "-nographic", "-monitor", "none", "-serial", "none",
                    "-semihosting-config", "enable=on,target=native", "-kernel"])


MACHINES = (
    Machine("gcc", ["gcc"], []),
    Machine("clang", ["clang"], []),
    Machine("ubsan", ["clang", "-fsanitize=undefined", "-fno-sanitize-recover=all"], [], ("-O0", "-O2")),  # -O3 compiles for a minute
    linux("aarch64", "aarch64-linux-gnu", "qemu-aarch64"),
    linux("armhf", "arm-linux-gnueabihf", "qemu-arm"),
    linux("riscv64", "riscv64-linux-gnu", "qemu-riscv64"),
    linux("s390x", "s390x-linux-gnu", "qemu-s390x"),
    cortex_m("cortex-m3", "mps2-an385", "mps2"),
    cortex_m("cortex-m4", "mps2-an386", "mps2"),
    cortex_m("cortex-m7", "mps2-an500", "mps2_an500"),
    cortex_m("cortex-m55", "mps3-an547", "mps3_an547", "-mfloat-abi=hard"),
)


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def self_test(machine, level, folder, name):
    """(digest or None, what went wrong or None) of the self-test NAME in FOLDER, built and run."""
    program = os.path.join(folder, f"{machine.name}{level}")
    sources = [os.path.join(folder, f"{name}{suffix}.c") for suffix in ("", "_selftest")]
    built = subprocess.run([*machine.compiler, *STRICT, level, *sources, "-o", program], capture_output=True, text=True)
    if built.returncode != 0:
        return None, f"does not compile: {built.stderr.strip()[:400]}"
    try:
        run = subprocess.run([*machine.backend, program], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return None, f"did not end in {SECONDS} s"
    finally:
        os.remove(program)
    digest = re.search(r"^digest ([0-9a-f]{64})$", run.stdout, re.MULTILINE)
    if not digest:
        return None, f"ended with {run.returncode} and no digest: {last_line(run.stderr)[:200]}"
    if run.returncode != 0 or last_line(run.stdout) != "pass":
        return digest[1], f"ended with {run.returncode} and {last_line(run.stdout)}"
    return digest[1], None


def alarm(machine, folder, name):
    """What is wrong, or None: the self-test must tell, in words and in its status, when it expects one bit more."""
    spoiled = os.path.join(folder, "spoiled")
    os.makedirs(spoiled, exist_ok=True)
    for suffix in (".h", ".c", "_selftest.c"):
        with open(os.path.join(folder, name + suffix), encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r'(expected\[\] = ")(.)', lambda match: match[1] + f"{int(match[2], 16) ^ 1:x}", text)
        with open(os.path.join(spoiled, name + suffix), "w", encoding="utf-8") as file:
            file.write(text)
    error = self_test(machine, machine.levels[0], spoiled, name)[1]
    return None if error == "ended with 1 and FAIL" else f"a spoiled self-test {error or 'passes'}"


def flash_bytes(cpu, level, folder, name):
    """Bytes of flash of the network NAME in FOLDER, with all that it calls, and of nothing else: text and initialized data."""
    program = os.path.join(folder, f"flash-{cpu}{level}")
    subprocess.run(["arm-none-eabi-gcc", f"-mcpu={cpu}", "-mthumb", *STRICT, level, "-ffunction-sections", "-fdata-sections",
                    "-nostartfiles", "-Wl,--gc-sections", f"-Wl,-e,{name}_run", os.path.join(folder, name + ".c"), "-o", program],
                   check=True)
    sizes = subprocess.run(["arm-none-eabi-size", program], capture_output=True, text=True, check=True).stdout
    text, data = last_line(sizes).split()[:2]
    return int(text) + int(data)
