"""The screen of `recollect find`: the query at the top, the memories below it, a preview of the
chosen one next to them.

Only this package imports prompt_toolkit, which takes longer than a whole search.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import lru_cache, partial
from typing import Any, TextIO

from prompt_toolkit.application import Application, run_in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import (
    BufferControl,
    DynamicContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    VSplit,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output.defaults import create_output

from recollect import Recollect, RecollectError
from recollect.plugin.pickers import Picked, PickerText, Search
from recollect.plugins.picker.answers import (
    PROMPT,
    Answer,
    Item,
    LiveAnswers,
    key_lines,
    list_lines,
    preview_lines,
    status_line,
)

WIDE = 100  # columns from which the preview is to the right of the list, not below it
ESCAPE_S = 0.05  # after it Esc is a key by itself, not the start of an escape sequence
ECHO_S = 0.02  # delay of typed text that nobody notices
Work = Callable[[Recollect], object]


class PatientScreen(Application[Item | None]):
    """Paints typed text together with its results if those come at once: painting takes as long as
    a search, and slows down a running one."""

    _late: asyncio.TimerHandle | None = None

    def hold(self) -> None:
        """Paint a moment later, and nothing before."""
        self._late = self._late or asyncio.get_running_loop().call_later(ECHO_S, self.paint)

    def paint(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self.invalidate()

    def invalidate(self) -> None:
        if self._late is None:
            super().invalidate()


class StatusHandler(logging.Handler):
    """Shows log messages about waiting on the screen."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.getMessage())


class Picker:
    """The picker over a vault.

    open_vault: opens the vault, in a thread.
    command: runs a command line while the screen is hidden.
    text: formats memories.
    """

    def __init__(
        self,
        open_vault: Callable[[], Recollect],
        search: Search,
        command: Callable[[list[str]], int],
        text: PickerText,
        *,
        colour: bool,
        output: Output,
        input: Input | None = None,
    ) -> None:
        self._open_vault, self._search, self._command = open_vault, search, command
        self._text, self._colour, self._output = text, colour, output
        self._preview_lines = lru_cache(maxsize=8)(partial(preview_lines, text))
        self._answers: LiveAnswers | None = None
        self.answer = Answer(whole=False)
        self._place = 0  # the chosen item, from 0
        self._why = False
        self._scrolled = 0  # lines of the preview
        self._message = ""  # replaces the status of the search until the query changes
        self._changed_id = ""  # the memory that a key changed, until the query changes
        self._undo: list[tuple[str, Work, str]] = []
        self._threads = ThreadPoolExecutor(1, "recollect-picker")
        self._words = Buffer(
            document=Document(search.query), multiline=False, on_text_changed=self._on_typing
        )
        self.app = PatientScreen(
            layout=self._layout(),
            key_bindings=self._keys(),
            full_screen=True,
            color_depth=None if colour else ColorDepth.DEPTH_1_BIT,
            input=input,
            output=output,
        )
        self.app.ttimeoutlen = self.app.timeoutlen = ESCAPE_S

    def run(self) -> Item | None:
        """Return the chosen item; None if the user left."""
        log, handler = logging.getLogger("recollect.waiting"), StatusHandler(self.tell)
        log.addHandler(handler)
        try:
            return self.app.run(pre_run=lambda: self._begin(self._open()))
        finally:
            log.removeHandler(handler)
            self._threads.shutdown()
            if self._answers is not None:
                self._answers.close()

    def tell(self, message: str) -> None:
        """Show this in the status line."""
        self._message = message
        self.app.invalidate()

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self.app.create_background_task(work)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _open(self) -> None:
        try:
            memory = await self._in_thread(self._open_vault)
        except RecollectError as error:
            self.app.exit(exception=error)
            return
        loop = asyncio.get_running_loop()

        def show(answer: Answer) -> None:
            with suppress(RuntimeError):  # the loop is closed: the user left during the search
                loop.call_soon_threadsafe(self._show, answer)

        self._answers = LiveAnswers(memory, self._search, show)
        self._ask()

    # What is searched and shown

    def _ask(self) -> None:
        if self._answers is not None:
            self._answers.ask(self._words.text)

    def _on_typing(self, words: Buffer) -> None:
        self._place, self._scrolled, self._message, self._changed_id = 0, 0, "", ""
        self._ask()
        if self._answers is not None:
            self.app.hold()

    def _show(self, answer: Answer) -> None:
        """Show the answer. The cursor stays on the memory that a key changed or restored, or on the
        one that the user has moved to."""
        before = self.item.memory.id if self._place and self.item else ""
        self.answer = answer
        ids = [item.memory.id for item in answer.items]
        same = (ids.index(id) for id in (self._changed_id, before) if id in ids)
        self._place = next(same, max(0, min(self._place, len(ids) - 1)))
        self.app.paint()

    @property
    def item(self) -> Item | None:
        """The chosen item."""
        return self.answer.items[self._place] if self.answer.items else None

    # The screen

    def _layout(self) -> Layout:
        words = Window(BufferControl(self._words, [BeforeInput(PROMPT, "bold")]), height=1)
        items = Window(
            FormattedTextControl(self._list),
            width=lambda: self._sizes()[0],
            height=lambda: self._sizes()[1],
        )
        preview = Window(
            FormattedTextControl(self._preview),
            width=lambda: self._sizes()[2],
            height=lambda: self._sizes()[3],
        )
        columns = VSplit([items, Window(width=1, char="│"), preview])
        rows = HSplit([items, Window(height=1, char="─"), preview])
        body = DynamicContainer(lambda: columns if self._wide else rows)
        status = Window(FormattedTextControl(self._status), height=1)
        hints = Window(
            FormattedTextControl(lambda: "\n".join(key_lines(self._columns))),
            height=lambda: len(key_lines(self._columns)),
            style="fg:ansibrightblack" if self._colour else "",
        )
        return Layout(HSplit([words, body, status, hints]), focused_element=words)

    @property
    def _columns(self) -> int:
        return self._output.get_size().columns

    @property
    def _wide(self) -> bool:
        return self._columns >= WIDE

    def _sizes(self) -> tuple[int, int, int, int]:
        """Return the columns and lines of the list, and of the preview."""
        size = self._output.get_size()
        lines = max(2, size.rows - 2 - len(key_lines(size.columns)))
        if self._wide:
            left = (size.columns - 1) // 2
            return left, lines, size.columns - 1 - left, lines
        above = max(1, lines * 2 // 5)
        return size.columns, above, size.columns, max(1, lines - 1 - above)

    def _list(self) -> StyleAndTextTuples:
        columns, lines, _, _ = self._sizes()
        return list_lines(self._text, self.answer, self._place, columns, lines)

    def _preview(self) -> StyleAndTextTuples:
        _, _, columns, lines = self._sizes()
        if self.item is None or self.answer.now is None:
            return []
        every = self._preview_lines(
            self.item, self.answer.now, columns, colour=self._colour, why=self._why
        )
        self._scrolled = max(0, min(self._scrolled, len(every) - lines))
        shown = every[self._scrolled : self._scrolled + lines]
        return [fragment for line in shown for fragment in (*line, ("", "\n"))]

    def _status(self) -> str:
        return self._message or status_line(self.answer)

    # The keys

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        moves = {"up": -1, "down": 1, "c-p": -1, "c-n": 1}
        for key, step in moves.items():
            keys.add(key)(lambda event, step=step: self._move(step))
        keys.add("pageup")(lambda event: self._scroll(-1))
        keys.add("pagedown")(lambda event: self._scroll(1))
        for key in ("escape", "c-c", "c-d", "c-q"):
            keys.add(key)(lambda event: event.app.exit(result=None))
        keys.add("tab")(lambda event: self._toggle_why())
        keys.add("c-z")(lambda event: self._undo_last())
        acts: dict[str, Callable[[Item], None]] = {
            "enter": lambda item: self.app.exit(result=item),
            "c-o": lambda item: self._leave_to(item, "open", f"--line={item.line}"),
            "c-e": lambda item: self._leave_to(item, "edit", "--edit"),
            "c-y": self._copy,
            "c-t": self._pin,
            "c-x": self._forget,
            "c-g": self._accept_result,
        }
        for key, act in acts.items():
            keys.add(key)(self._on_item(act))
        return keys

    def _on_item(self, act: Callable[[Item], None]) -> Callable[[KeyPressEvent], None]:
        def on_key(event: KeyPressEvent) -> None:
            if self.item is not None:
                act(self.item)

        return on_key

    def _move(self, step: int) -> None:
        self._place = max(0, min(self._place + step, len(self.answer.items) - 1))
        self._scrolled, self._message, self._changed_id = 0, "", ""

    def _scroll(self, pages: int) -> None:
        self._scrolled += pages * max(1, self._sizes()[3] - 1)

    def _toggle_why(self) -> None:
        self._why, self._scrolled = not self._why, 0

    def _leave_to(self, item: Item, *command: str) -> None:
        """Give the terminal to a command, and show the picker again when it has ended."""

        async def away() -> None:
            output = io.StringIO()

            def run() -> None:
                with redirect_stdout(output), redirect_stderr(output):
                    self._command([*command, "--", item.memory.id])

            await run_in_terminal(run)
            self._message = "".join(output.getvalue().splitlines()[-1:]).removeprefix("recollect: ")
            self._ask()

        self._begin(away())

    def _do(self, id: str, work: Work, message: str, undo: tuple[Work, str] | None = None) -> None:
        """Change this memory in a thread, show a message, and keep the undo."""

        async def doing() -> None:
            assert self._answers is not None
            memory = self._answers.memory
            try:
                await self._in_thread(lambda: work(memory))
            except RecollectError as error:
                self._message = str(error)
            else:
                self._message, self._changed_id = message, id
                self._undo += [(id, *undo)] if undo else []
            self._ask()
            self.app.invalidate()

        self._begin(doing())

    def _undo_last(self) -> None:
        if self._undo:
            self._do(*self._undo.pop())
        else:
            self._message = "There is nothing to undo."

    def _copy(self, item: Item) -> None:
        text, terminal, memory = self._text, self._output, item.memory
        self._do(memory.id, lambda _: text.copy(memory, terminal.write_raw), "Copied.")

    def _pin(self, item: Item) -> None:
        ids = [item.memory.id]
        pin: tuple[Work, str] = (lambda memory: memory.pin(ids), "Pinned.")
        unpin: tuple[Work, str] = (lambda memory: memory.unpin(ids), "Unpinned.")
        done, undo = (unpin, pin) if item.memory.tier == "core" else (pin, unpin)
        self._do(item.memory.id, *done, undo)

    def _forget(self, item: Item) -> None:
        ids = [item.memory.id]
        self._do(
            item.memory.id,
            lambda memory: memory.forget(ids),
            "Forgotten. ^Z brings it back.",
            (lambda memory: memory.forget(ids, undo=True), "It is back."),
        )

    def _accept_result(self, item: Item) -> None:
        id, query = item.memory.id, self._words.text
        if not query.strip():
            self._message = "Accepting says that a result was right: type what you look for first."
            return
        self._do(
            id,
            lambda memory: memory.feedback(query, id, accept=True),
            "Accepted: it ranks higher for these words from now on.",
            (lambda memory: memory.feedback(query, id, undo=True), "Taken back."),
        )


def pick(
    open_vault: Callable[[], Recollect],
    search: Search,
    command: Callable[[list[str]], int],
    terminal: TextIO,
    text: PickerText,
) -> Picked | None:
    """Let the user choose a memory on this terminal; None if they leave."""
    picker = Picker(
        open_vault,
        search,
        command,
        text,
        colour=not os.environ.get("NO_COLOR"),
        output=create_output(terminal),
    )
    chosen = picker.run()
    return Picked(chosen.memory, chosen.line) if chosen else None
