"""Shows where the parked handlers of a running server wait:

    gdb -batch -p PID -x deploy/fibers.py

gdb knows the stacks of threads only; a handler that waits is on a stack of its
own (api/exchange/fiber.c). The script lends the registers of each parked fiber
to the current thread while it prints the stack, so it needs a process, not a
core file. For x86-64: the offsets are those of Boost.Context's jump_fcontext.
"""
import gdb

SAVED = {"r12": 0x08, "r13": 0x10, "r14": 0x18, "r15": 0x20, "rbx": 0x28, "rbp": 0x30, "rip": 0x38}
SAVED_SIZE = 0x40


def entries(head, link):
    entry = head["lh_first"]
    while entry:
        yield entry
        entry = entry[link]["le_next"]


def word_at(address):
    return int(gdb.parse_and_eval("*(unsigned long *)%d" % address))


def set_registers(registers):
    for name, value in registers.items():
        gdb.execute("set var $%s = %d" % (name, value))


def parked_registers(context):
    registers = {name: word_at(context + offset) for name, offset in SAVED.items()}
    registers["rsp"] = context + SAVED_SIZE
    return registers


def show():
    if gdb.selected_inferior().architecture().name() != "i386:x86-64":
        raise gdb.GdbError("fibers.py knows the registers of x86-64 only")
    gdb.execute("frame 0", to_string=True)
    own = {name: int(gdb.parse_and_eval("(long)$" + name)) for name in [*SAVED, "rsp"]}
    parked = 0
    for pool in entries(gdb.parse_and_eval("'fiber.c'::pools"), "link"):
        for fiber in entries(pool["all"], "all"):
            if not fiber["run"] or fiber["caller"]:
                continue
            parked += 1
            print("\nfiber %s" % fiber)
            try:
                set_registers(parked_registers(int(fiber["context"])))
                gdb.execute("backtrace")
            finally:
                set_registers(own)
    print("\n%d parked" % parked)


show()
