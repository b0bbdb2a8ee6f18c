#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py with arrays that live on the device in use, a GPU or gpufifo's emulated device.

mpi4py takes any object with __cuda_array_interface__ and hands its address to MPI. Here a small class of ctypes makes
such objects from the functions of gpufifo/device.h; CuPy, PyTorch or Numba arrays work the same way on a GPU.

    mpirun -n 4 --mca coll gpufifo,tuned,libnbc,basic,inter,self /usr/bin/python3 mpi4py_allreduce.py

Exits with 1 if a result is wrong.
"""
import array
import ctypes
import os
import sys

from mpi4py import MPI

MEMORY_DEVICE = 3        # GPUFIFO_MEMORY_DEVICE of gpufifo/device.h


class Device:
    """The device in use, as gpufifo/device.h gives it."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("GPUFIFO_LIBRARY", "libgpufifo.so.0"))
        self.library.gpufifo_error.restype = ctypes.c_char_p
        self.library.gpufifo_device_name.restype = ctypes.c_char_p
        self.library.gpufifo_device_name.argtypes = [ctypes.c_void_p]
        self.handle = ctypes.c_void_p()
        self.must(self.library.gpufifo_device_open(None, -1, ctypes.byref(self.handle)))
        self.name = self.library.gpufifo_device_name(self.handle).decode()

    def must(self, result):
        if result != 0:
            raise RuntimeError(self.library.gpufifo_error().decode())

    def alloc(self, nbytes):
        pointer = ctypes.c_void_p()
        self.must(self.library.gpufifo_alloc(self.handle, MEMORY_DEVICE, ctypes.c_size_t(nbytes), ctypes.byref(pointer)))
        return pointer.value or 0

    def free(self, address):
        self.must(self.library.gpufifo_free(self.handle, ctypes.c_void_p(address)))

    def copy(self, to, source, nbytes):
        self.must(self.library.gpufifo_copy(self.handle, ctypes.c_void_p(to), ctypes.c_void_p(source), ctypes.c_size_t(nbytes)))


class DeviceArray:
    """One-dimensional array on the device: what mpi4py needs to see is __cuda_array_interface__."""

    TYPES = {"d": "<f8", "f": "<f4", "i": "<i4", "q": "<i8"}

    def __init__(self, device, typecode, values):
        host = array.array(typecode, values)
        self.device, self.typecode, self.count = device, typecode, len(host)
        self.nbytes = host.itemsize * len(host)
        self.address = device.alloc(self.nbytes)
        if self.nbytes:
            device.copy(self.address, host.buffer_info()[0], self.nbytes)

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.count,), "typestr": self.TYPES[self.typecode], "data": (self.address, False), "version": 2}

    def values(self):
        host = array.array(self.typecode, [0]) * self.count
        if self.nbytes:
            self.device.copy(host.buffer_info()[0], self.address, self.nbytes)
        return list(host)

    def free(self):
        if self.address:
            self.device.free(self.address)
            self.address = 0


class Check:
    """Runs one call after the other on fresh arrays and counts the wrong results."""

    def __init__(self, comm, device):
        self.comm, self.device, self.wrong = comm, device, 0
        self.rank, self.size = comm.Get_rank(), comm.Get_size()

    def run(self, name, call, send, recv, expected, typecode="d"):
        """call(sendarray, recvarray) fills recvarray; expected is None where this rank receives nothing."""
        out = DeviceArray(self.device, typecode, send)
        into = DeviceArray(self.device, typecode, recv)
        call(out, into)
        right = expected is None or into.values() == list(expected)
        out.free()
        into.free()
        wrong = self.comm.allreduce(0 if right else 1)
        self.wrong += wrong
        if self.rank == 0:
            print(f"  {name:28s} {'right' if not wrong else f'WRONG at {wrong} of {self.size} ranks'}")


def check_reductions(check):
    comm, rank, size = check.comm, check.rank, check.size
    for typecode in "dfiq":
        for count in (0, 1, 1000, 100_000):
            values = [(rank + i) % 7 for i in range(count)]
            total = [sum((r + i) % 7 for r in range(size)) for i in range(count)]
            check.run(f"Allreduce {typecode} x {count}", lambda s, r: comm.Allreduce(s, r, MPI.SUM), values, [0] * count, total,
                      typecode)
    mine = [float(rank + i) for i in range(1000)]
    zeros = [0.0] * 1000
    total = [float(sum(r + i for r in range(size))) for i in range(1000)]
    check.run("Allreduce in place", lambda s, r: comm.Allreduce(MPI.IN_PLACE, r, MPI.SUM), [], mine, total)
    check.run("Allreduce maximum", lambda s, r: comm.Allreduce(s, r, MPI.MAX), mine, zeros,
              [float(size - 1 + i) for i in range(1000)])
    check.run("Iallreduce", lambda s, r: comm.Iallreduce(s, r, MPI.SUM).Wait(), mine, zeros, total)
    check.run("Reduce", lambda s, r: comm.Reduce(s, r, MPI.SUM, root=0), mine, zeros, total if rank == 0 else zeros)
    check.run("Scan", lambda s, r: comm.Scan(s, r, MPI.SUM), mine, zeros,
              [float(sum(p + i for p in range(rank + 1))) for i in range(1000)])


def check_movements(check):
    comm, rank, size = check.comm, check.rank, check.size
    n = 100
    mine = [float(rank * n + i) for i in range(n)]
    everything = [float(i) for i in range(size * n)]
    check.run("Bcast", lambda s, r: comm.Bcast(r, root=0), [], mine, everything[:n])
    check.run("Allgather", lambda s, r: comm.Allgather(s, r), mine, [0.0] * size * n, everything)
    check.run("Gather", lambda s, r: comm.Gather(s, r, root=0), mine, [0.0] * size * n, everything if rank == 0 else None)
    check.run("Scatter", lambda s, r: comm.Scatter(s, r, root=0), everything, [0.0] * n, mine)
    check.run("Alltoall", lambda s, r: comm.Alltoall(s, r), [float(rank * size + p) for p in range(size)], [0.0] * size,
              [float(p * size + rank) for p in range(size)])
    check.run("Ibcast", lambda s, r: comm.Ibcast(r, root=size - 1).Wait(), [], mine, everything[(size - 1) * n:])


def main():
    comm = MPI.COMM_WORLD
    try:
        device = Device()
    except (OSError, RuntimeError) as error:
        print(f"mpi4py_allreduce.py: no device: {error}", file=sys.stderr)
        comm.Abort(2)
    if comm.Get_rank() == 0:
        print(f"mpi4py {MPI.Get_library_version().split(',')[0]}, {comm.Get_size()} ranks, device {device.name}")
    check = Check(comm, device)
    check_reductions(check)
    check_movements(check)
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
