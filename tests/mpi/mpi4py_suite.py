#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own test suite and writes down how each test ended, so that runs can be compared.

    mpirun -n 2 /usr/bin/python3 mpi4py_suite.py FOLDER RESULTS host|device [PREFIX]

FOLDER is the suite, `test` of mpi4py's source package. Every rank writes RESULTS.<rank>, a line a test. With "device" the suite's
arrays live in device memory, and those of its modules run that pass arrays to communication. With a prefix, as "test_p2p", only
modules of such names run.
"""
import array
import os
import sys
import time
import unittest

# Spawning and connecting need a network between the processes; with Open MPI 4.1 on one node these tests hang or crash by
# themselves. The others are about Python, files and datatypes, and send nothing.
LEFT_OUT = {"test_spawn", "test_dynproc",
            "test_cffi", "test_ctypes", "test_datatype", "test_dl", "test_doc", "test_environ", "test_file", "test_io",
            "test_memory", "test_pack", "test_util_dtlib"}
WITH_ARRAYS = {"test_cco_buf", "test_cco_nb_buf", "test_cco_nb_vec", "test_cco_ngh_buf", "test_cco_vec", "test_p2p_buf",
               "test_p2p_buf_matched"}


class Flat:
    """The elements of a device array, as the suite reads and writes them."""

    def __init__(self, owner):
        self.owner = owner

    def __iter__(self):
        return iter(self.owner.to_host())

    def __len__(self):
        return self.owner.size

    def __getitem__(self, index):
        return self.owner.to_host()[index]

    def __setitem__(self, index, value):
        host = self.owner.to_host()
        if isinstance(index, slice) and not isinstance(value, array.array):
            value = array.array(host.typecode, value)
        host[index] = value
        self.owner.from_host(host)


def device_array_class(arrayimpl, device):
    """A class of arrays for the suite, like its own ones in arrayimpl.py."""

    class DeviceArray(arrayimpl.ArrayArray):
        backend = "gpufifo"

        def __init__(self, arg, typecode, shape=None, readonly=False):
            super().__init__(arg, typecode, shape)
            host = self.array
            self.array = Flat(self)
            self.code, self.bytes_each, self.length = host.typecode, host.itemsize, len(host)
            self.pointer = device.alloc(self.length * self.bytes_each)
            self.from_host(host)
            self.__cuda_array_interface__ = {"version": 0, "data": (self.pointer, readonly), "shape": (self.length,),
                                             "typestr": arrayimpl.typestr(self.code, self.bytes_each)}

        def __del__(self):
            if self.pointer:
                device.free(self.pointer)

        def from_host(self, host):
            if self.length:
                device.copy(self.pointer, host.buffer_info()[0], self.length * self.bytes_each)

        def to_host(self):
            host = array.array(self.code, [0]) * self.length
            if self.length:
                device.copy(host.buffer_info()[0], self.pointer, self.length * self.bytes_each)
            return host

        address = property(lambda self: self.pointer)
        typecode = property(lambda self: self.code)
        itemsize = property(lambda self: self.bytes_each)
        size = property(lambda self: self.length)
        flat = property(lambda self: self.array)

        def as_raw(self):
            return self

    return DeviceArray


class Outcomes(unittest.TestResult):
    """Remembers the outcome of each test, its worst one if it has parts."""

    def __init__(self):
        super().__init__()
        self.of, self.since, self.slowest = {}, 0.0, []

    def startTest(self, test):
        super().startTest(test)
        self.since = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self.slowest.append((time.monotonic() - self.since, test.id()))

    def note(self, test, outcome, error=None):
        if error and self.of.get(test.id()) != "failed":
            print(f"{test.id()}: {self._exc_info_to_string(error, test)}", file=sys.stderr)
        if self.of.get(test.id()) != "failed":
            self.of[test.id()] = outcome

    def addSuccess(self, test):
        self.note(test, "passed")

    def addFailure(self, test, err):
        self.note(test, "failed", err)

    def addError(self, test, err):
        self.note(test, "failed", err)

    def addSkip(self, test, reason):
        self.note(test, "skipped")

    def addExpectedFailure(self, test, err):
        self.note(test, "failed as expected")

    def addUnexpectedSuccess(self, test):
        self.note(test, "passed unexpectedly")

    def addSubTest(self, test, subtest, err):
        if err:
            self.note(test, "failed", err)


def keep_attached_on_host(mpi):
    """What the suite attaches for buffered sends becomes host memory, since MPI keeps its books in it."""
    attach = mpi.Attach_buffer
    mpi.Attach_buffer = lambda memory: attach(bytearray(memory.size * memory.itemsize)
                                              if hasattr(memory, "__cuda_array_interface__") else memory)


def load(folder, wanted):
    suite = unittest.TestSuite()
    for name in sorted(os.path.splitext(file)[0] for file in os.listdir(folder) if file.startswith("test_")):
        if wanted(name):
            suite.addTests(unittest.defaultTestLoader.loadTestsFromName(name))
    return suite


def main():
    folder, results, arrays = sys.argv[1:4]
    prefix = sys.argv[4] if len(sys.argv) > 4 else ""
    sys.path.insert(0, folder)
    sys.modules["cupy"] = sys.modules["numba"] = None
    from mpi4py import MPI
    import arrayimpl

    if arrays == "device":
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
        from mpi4py_allreduce import Device
        arrayimpl.ArrayBackends[:] = [device_array_class(arrayimpl, Device())]
        keep_attached_on_host(MPI)
        suite = load(folder, lambda name: name in WITH_ARRAYS and name.startswith(prefix))
    else:
        suite = load(folder, lambda name: name not in LEFT_OUT and name.startswith(prefix))
    outcomes = Outcomes()
    suite.run(outcomes)
    with open(f"{results}.{MPI.COMM_WORLD.Get_rank()}", "w", encoding="utf-8") as file:
        for test in sorted(outcomes.of):
            file.write(f"{test} {outcomes.of[test]}\n")
    if MPI.COMM_WORLD.Get_rank() == 0:
        how = list(outcomes.of.values())
        print(f"mpi4py_suite.py: {arrays} arrays: {how.count('passed')} passed, {how.count('skipped')} skipped, "
              f"{how.count('failed')} failed")
        for seconds, test in sorted(outcomes.slowest, reverse=True)[:int(os.environ.get("SLOWEST", "0"))]:
            print(f"  {seconds:.1f} s {test}")
    return 0 if outcomes.of else 1


if __name__ == "__main__":
    sys.exit(main())
