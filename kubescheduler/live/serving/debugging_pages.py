"""/debug: what threads and tasks do, and how much is logged. Upstream: apiserver's routes Profiling and DebugFlags."""

from __future__ import annotations

import asyncio
import io
import re
import sys
import threading
import traceback
from html import escape

from kubecel.api_names import go_quote
from kubescheduler.live.logs.verbosity import Verbosity
from kubescheduler.live.serving.http_answers import HTML, NOSNIFF, PLAIN, HttpAnswer, HttpRequest, text_answer

PROFILES = {"goroutine": "Stack traces of all current threads, and of the tasks of the I/O thread"}
"""Profile → what it shows. Those that only a Go program has are not there."""
WHOLE = re.compile(r"[0-9]+")


def flag_page(verbosity: Verbosity, request: HttpRequest) -> HttpAnswer:
    """``PUT /debug/flags/v`` with a number sets the verbosity."""
    if request.method != "PUT":
        return text_answer("unsupported http method\n", 406, PLAIN)
    text = request.body.decode(errors="replace")
    if not WHOLE.fullmatch(text):
        return text_answer(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax\n", 400, PLAIN)
    verbosity.level = int(text)
    return text_answer(f"successfully set klog.logging.verbosity to {text}\n", 200, PLAIN)


FLAGS_PAGE = HttpAnswer(
    200,
    b"<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n<table>\n"
    b"<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n",
    HTML,
)


def profile_page(name: str) -> HttpAnswer:
    """``/debug/pprof/NAME``; without a name the list. On the I/O thread."""
    if not name:
        return _profiles()
    if name not in PROFILES:
        return HttpAnswer(404, b"Unknown profile\n", headers={**NOSNIFF, "X-Go-Pprof": "1"})
    return HttpAnswer(200, stacks().encode(), headers=NOSNIFF)


def _profiles() -> HttpAnswer:
    rows = "".join(
        f"<tr><td><a href='{escape(name)}'>{escape(name)}</a></td><td>{escape(meaning)}</td></tr>\n"
        for name, meaning in PROFILES.items()
    )
    text = f"<html>\n<head>\n<title>/debug/pprof/</title>\n</head>\n<body>\n<table>\n{rows}</table>\n</body>\n</html>\n"
    return HttpAnswer(200, text.encode(), HTML, NOSNIFF)


def stacks() -> str:
    """What every thread does, and every task of the running event loop."""
    frames = sys._current_frames()
    lines = []
    for thread in threading.enumerate():
        lines.append(f"thread {thread.name}:\n")
        lines += traceback.format_stack(frames[thread.ident]) if thread.ident in frames else ()
        lines.append("\n")
    out = io.StringIO()
    for task in asyncio.all_tasks():
        out.write(f"task {task.get_name()}:\n")
        task.print_stack(file=out)
        out.write("\n")
    return "".join(lines) + out.getvalue()
