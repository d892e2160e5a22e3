"""A comparison of a trace's copies and skipped migrations with the bytes of its MMD calls."""

from __future__ import annotations

from collections import Counter

from fpgart.watch.report import Args

MOVING = {"aocl_mmd_write": "write", "aocl_mmd_read": "read", "aocl_mmd_copy": "copy"}
BESIDE_THE_MMD = ("READ_GLOBAL_VARIABLE_INTEL", "WRITE_GLOBAL_VARIABLE_INTEL")
"""Program-scope variables lie in the engine's memory."""
Bytes = Counter[str]


def moved_by_operation(events: list[Args]) -> dict[int, Bytes]:
    """Bytes of each kind of MMD call, by the number of the device operation."""
    found: dict[int, Bytes] = {}
    for event in events:
        kind = MOVING.get(event["name"]) if event.get("cat") == "mmd" else None
        if kind is not None:
            found.setdefault(event["args"].get("operation", 0), Counter())[kind] += event["args"]["size"]
    return found


def _migration(args: Args) -> Bytes:
    size, source, target = args["size"], args["from"], args["to"]
    if args["skipped"] or source == target:
        return Counter()
    if source == "host":
        return Counter(write=size)
    if target == "host":
        return Counter(read=size)
    if source.split(",")[0] == target.split(",")[0]:
        return Counter(copy=size)
    return Counter(read=size, write=size)


def told_by_operation(events: list[Args]) -> dict[int, Bytes]:
    """Bytes that migrations say they moved, by the number of their operation."""
    found: dict[int, Bytes] = {}
    for event in events:
        if event.get("cat") == "device" and event["name"] == "migration" and "buffer" in event["args"]:
            found.setdefault(event["args"]["operation"], Counter()).update(_migration(event["args"]))
    return found


def _transfer_adds_up(args: Args, moved: Bytes) -> bool:
    """A transfer moves its bytes once, between boards twice; in the host's memory no MMD call does."""
    size = args.get("size", 0)
    if args.get("on_host") or args["command"] in BESIDE_THE_MMD or not size:
        return not moved
    return moved in (Counter(write=size), Counter(read=size), Counter(copy=size), Counter(read=size, write=size))


def check_accounts(events: list[Args]) -> None:
    """Raises AssertionError for the first operation whose words are not its traffic."""
    device = [event for event in events if event.get("cat") == "device"]
    failed = {event["args"]["operation"] for event in device if "error" in event["args"]}
    moved, told = moved_by_operation(events), told_by_operation(events)
    for number, expected in told.items():
        if number not in failed:
            assert moved.get(number, Counter()) == expected, f"operation {number}: told {expected}"
    for event in device:
        args = event["args"]
        if event["name"] == "transfer" and args["operation"] not in failed:
            assert _transfer_adds_up(args, moved.get(args["operation"], Counter())), event
    _check_launches(device, failed)


def _check_launches(device: list[Args], failed: set[int]) -> None:
    """Each buffer argument of a launch was either brought to its place or found there."""
    arguments = sum(
        len(event["args"]["buffers"])
        for event in device
        if event["name"] == "kernel" and event["args"]["operation"] not in failed
    )
    told = sum(
        event["args"].get("reason", "").startswith("argument")
        for event in device
        if event["name"] == "migration" and event["args"]["operation"] not in failed
    )
    assert told == arguments, f"{told} migrations, done or skipped, for {arguments} buffer arguments"
