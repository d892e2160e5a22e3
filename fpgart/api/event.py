# SPDX-License-Identifier: Apache-2.0
"""Events (OpenCL 3.0, 5.11, 5.13)."""

from __future__ import annotations

from typing import Any

from _fpgart_icd import lib

from fpgart.base import opencl as cl
from fpgart.base.errors import (
    ExecStatusErrorForEventsInWaitList,
    InvalidContext,
    InvalidEvent,
    InvalidEventWaitList,
    InvalidValue,
    OutOfHostMemory,
)
from fpgart.base.notices import NOTICES
from fpgart.bridge import info
from fpgart.bridge.entry import Answer, entry, wait_list
from fpgart.bridge.handles import references
from fpgart.runtime.objects.context import Context
from fpgart.runtime.scheduling.event import COMPLETE, SUBMITTED, Event, check_callback_status


def observed(event: Event) -> int:
    """Returns the status to the host, and tells watchers if the event has ended."""
    status = event.seen_status()
    if status <= COMPLETE:
        for listener in NOTICES.end_observed:
            listener(event)
        if not event.context.scheduler.ends_are_news:
            info.remember(event, cl.CL_EVENT_COMMAND_EXECUTION_STATUS, info.i32(status))
            info.remember(event, cl.CL_EVENT_CONTEXT, info.handle(event.context))
    return status


def profiled(event: Event, stage: str) -> int:
    """Returns a profiling time, which only an ended event has."""
    time = event.profiling_time(stage)
    observed(event)
    return time


EVENT_INFO: dict[int, info.Query[Event]] = {
    cl.CL_EVENT_COMMAND_QUEUE: lambda e: info.handle(e.queue),
    cl.CL_EVENT_CONTEXT: lambda e: info.handle(e.context),
    cl.CL_EVENT_COMMAND_TYPE: lambda e: info.u32(e.command_type),
    cl.CL_EVENT_COMMAND_EXECUTION_STATUS: lambda e: info.i32(observed(e)),
    cl.CL_EVENT_REFERENCE_COUNT: lambda e: info.u32(references(e)),
}
FIXED_EVENT_INFO = EVENT_INFO.keys() - {cl.CL_EVENT_COMMAND_EXECUTION_STATUS, cl.CL_EVENT_REFERENCE_COUNT}
PROFILING_INFO: dict[int, info.Query[Event]] = {
    cl.CL_PROFILING_COMMAND_QUEUED: lambda e: info.u64(profiled(e, "queued")),
    cl.CL_PROFILING_COMMAND_SUBMIT: lambda e: info.u64(profiled(e, "submit")),
    cl.CL_PROFILING_COMMAND_START: lambda e: info.u64(profiled(e, "start")),
    cl.CL_PROFILING_COMMAND_END: lambda e: info.u64(profiled(e, "end")),
    cl.CL_PROFILING_COMMAND_COMPLETE: lambda e: info.u64(profiled(e, "end")),
}


@entry("clCreateUserEvent")
def create_user_event(context: Context) -> Event:
    return Event(context, None, cl.CL_COMMAND_USER, None, SUBMITTED)


@entry("clSetUserEventStatus")
def set_user_event_status(event: Event, execution_status: int) -> None:
    if event.queue is not None:
        raise InvalidEvent("this event belongs to a command, it is not a user event")
    event.set_status(execution_status)


@entry("clWaitForEvents")
def wait_for_events(num_events: int, event_list: Any) -> None:
    if not num_events or not event_list:
        raise InvalidValue("there are no events to wait for")
    try:
        events = wait_list(num_events, event_list, None)
    except InvalidEventWaitList as error:
        raise InvalidEvent(str(error)) from None
    context = events[0].context
    if any(event.context is not context for event in events):
        raise InvalidContext("the events belong to more than one context")
    failed = None
    for event in events:
        context.scheduler.wait(event)
        observed(event)
        if event.status < COMPLETE and failed is None:
            failed = event
    if failed is not None:
        raise ExecStatusErrorForEventsInWaitList(f"an event ended with status {failed.status}")


@entry("clGetEventInfo")
def get_event_info(event: Event, param_name: int) -> Answer:
    return info.answer_of(EVENT_INFO, event, param_name, FIXED_EVENT_INFO)


@entry("clGetEventProfilingInfo")
def get_event_profiling_info(event: Event, param_name: int) -> Answer:
    return info.answer_of(PROFILING_INFO, event, param_name)


@entry("clSetEventCallback")
def set_event_callback(event: Event, command_exec_callback_type: int, pfn_notify: int, user_data: int) -> None:
    if not pfn_notify:
        raise InvalidValue("no callback is given")

    def call_back(reached: Event, status: int) -> None:
        if status <= COMPLETE:
            observed(reached)
        lib.fpgart_call_about_event(pfn_notify, reached.handle, status, user_data)

    if not event.is_view:
        event.when(command_exec_callback_type, call_back)
        return
    check_callback_status(command_exec_callback_type)
    if not lib.fpgart_view_calls_back(event.handle, command_exec_callback_type, pfn_notify, user_data):
        raise OutOfHostMemory("no memory for a callback")
