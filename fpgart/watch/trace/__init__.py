# SPDX-License-Identifier: Apache-2.0
"""FPGART_TRACE: a log of the run as Chrome trace events, which Perfetto opens.

The file is a JSON array with one event per line. Each line is written as soon as its event has ended; those of
launches that C carries are written with the next other call, or within about 20 ms. After a crash, all lines but
perhaps the last are whole. Each thread of the host has a track (process 1), and so has each command queue under its
device (process 2 + the device's number).

- cat "fpgart": begin (args run, the run of `fpgart run`, process, clock, the monotonic time at which the trace
  begins, and epoch, the time of day at which that clock began; command line, version of fpgart, computer; rank, job
  and machine of a process among several), engine (the engine that runs the kernels), board (the description of a
  device's board, and its figures for the model of time), not locked (the system refused to lock host memory; args size
  and limit), end.
- cat "site": declares a number: the call that the event is named after, and its frames in the host's code. Commands,
  objects, and calls that may wait have the number as arg site.
- cat "api": a call of the host. The driver answers reference counting in C; it does not appear.
- cat "mmd": a call through the MMD, args device, address, board_address, size, buffer, operation.
  aocl_mmd_yield stands for all calls (arg calls) until one transfer between boards had ended; its size is 0.
- cat "memory": reserve or free of a block, args device, memory, bank (and last_bank if it straddles several; and
  interleaved where the memory has its banks so: banks, and bytes in one before the next one's turn),
  address, size, buffer.
- cat "placing": whether a host's request for a bank or memory took effect, args buffer and bank, argument or words.
- cat "refusal": a device has no room for a block, args device, size, buffer.
- cat "device": a device operation, with its command, buffer, kernel, ND-range, or a migration's reason.
  A command has a number, arg enqueued, in the events of the call that enqueued it, of its operations and of its steps
  in the simulated clock; bind_id with flow_out and flow_in is the same for Perfetto, which draws arrows.
- cat "engine": compile, what the engine compiled in front of a kernel's first run; boards have no such time.
- cat "cable": the packets of a launch through an I/O channel that leads to another board, from the first to the last
  packet; args device, operation, kernel, channel, cable, writes, packets, packet (bytes of one), begin and end
  (positions in the stream of all bytes, the same at both ends). On tracks of the channels, under their device.
- cat "buffer": create or release of a buffer.
- cat "time": a step of a command in the simulated clock (FPGART_TIME=model), at its simulated time, in processes of
  its own (1000 + the device's number): args command, queued, submit, begin, end (nanoseconds), bound, busy (by
  resource), banks (by name, the intervals in which the step has it), size; loops, if those of the kernel cannot be
  counted; channels, the packets and waits of it and of autorun kernels at each (channel, kernel, writing, depth,
  packets, waited, begin and end of that); deeper, depths that would have saved time; untold, the reason if they are
  not known; patterns, accesses to memory that are not one after the other (array, index, line of the program's
  source, stride, 0 for anywhere, size, and nanoseconds: takes of the memory, sequential for as many bytes in a row,
  saved of the kernel).
- cat "channel": counters, how many packets a channel holds (args packets, capacity), and stall, for as long as a kernel
  waited for it (args device, channel, capacity, kernel, writing); a busy channel is only sampled.
- cat "pipe": a pipe that SPIR-V declares, named after its symbol, when a board is programmed; args device, packet
  (bytes), capacity (packets), kernels, those that use it.
- cat "autorun": an autorun kernel, from when the board was programmed, args device, units.
- cat "usm": allocate or free of unified shared memory, migrate of a shared range.
- cat "mapping": set or default of the regions through which a kernel sees memory, args device, kernel, regions.
- cat "finding": a mistake that FPGART_CHECK found, with the facts of FPGART_FINDINGS.
- cat "fault": an injected fault, for as long as it delayed the call, args device (null: a call of the API), call.

An address carries the device's number in its upper bits, as kernels receive it, and bit 61 in events of unified shared
memory; board_address beside it is the offset in the board's memory map, which the MMD receives.
"""
