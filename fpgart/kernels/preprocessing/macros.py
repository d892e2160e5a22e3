# SPDX-License-Identifier: Apache-2.0
"""Macros: definitions, and their expansion (C99, 6.10.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fpgart.base.named_tuples import NamedTuple
from fpgart.kernels.preprocessing.files import Source
from fpgart.kernels.preprocessing.tokens import NAME, Token, tokens_of
from fpgart.kernels.signs import PreprocessorError

DEEPEST_CALLS = 64
LEAST_WORK, WORK_PER_TOKEN = 1 << 19, 64
"""The most tokens that macros may read and produce: for any text, and in addition for each token of the text."""
SPECIAL = frozenset(("__LINE__", "__FILE__", "__COUNTER__"))


class Position(NamedTuple):
    """A line of a source, for __LINE__, __FILE__ and errors."""

    source: Source
    number: int

    def refuse(self, words: str) -> PreprocessorError:
        return self.source.refuse(self.number, words)


class Macro(NamedTuple):
    """`parameters` is None for an object-like macro; the last one of a `variadic` macro takes the rest."""

    body: tuple[Token, ...]
    parameters: tuple[str, ...] | None = None
    variadic: bool = False


class Call:
    """Lines that are expanded together, because a macro's call in them continues: the first one's number and indent.

    Directives between them are carried out when they are read, as compilers do.
    """

    def __init__(self, number: int, indent: str) -> None:
        self.number = number
        self.indent = indent
        self.tokens: list[Token] = []
        self._opened: list[bool] = []
        """The parentheses that are open; True for one within the arguments of a macro. The last one decides."""
        self._is_named = False
        """True if the name of a macro came last, whose arguments may follow."""

    def add(self, tokens: Sequence[Token], macros: Macros) -> None:
        """Appends the tokens of a line."""
        if self.tokens:
            tokens = [tokens[0]._replace(spaced=True), *tokens[1:]]
        for token in tokens:
            if token.text == "(":
                self._opened.append(self._is_named or self.is_within)
            elif token.text == ")" and self._opened:
                self._opened.pop()
            self._is_named = macros.is_called(token.text)
        self.tokens += tokens

    @property
    def is_within(self) -> bool:
        """True if the next line has arguments of the call."""
        return self._opened[-1:] == [True]

    @property
    def may_continue(self) -> bool:
        return self.is_within or self._is_named

    def continues(self, text: str) -> bool:
        """True if the next line, which has this text, belongs to the call."""
        return self.is_within or text.lstrip().startswith("(")


class Macros:
    """The macros of one input so far.

    `predefined` are those of the engine's compiler, which expands them itself: they count in conditions only.
    """

    def __init__(self, predefined: Mapping[str, Macro]) -> None:
        self._predefined = dict(predefined)
        self.defined: dict[str, Macro] = {}
        self._counter = 0
        self._depth = 0
        self._work = 0
        self._most_work = LEAST_WORK

    def start(self, predefined: Mapping[str, Macro]) -> None:
        """Forgets all macros for another input; __COUNTER__ continues."""
        self._predefined, self.defined = dict(predefined), {}

    def define(self, rest: str, at: Position) -> None:
        tokens = tokens_of(rest)
        if not tokens or not NAME.fullmatch(tokens[0].text):
            raise at.refuse(f"#define needs a name, not: {rest.strip()}")
        name = tokens[0].text
        if len(tokens) > 1 and tokens[1].text == "(" and not tokens[1].spaced:
            end = next((index for index, token in enumerate(tokens) if token.text == ")"), None)
            if end is None:
                raise at.refuse(f"the parameters of macro {name} lack a ')'")
            words = [token.text for token in tokens[2:end] if token.text != ","]
            variadic = bool(words) and words[-1] == "..."
            if variadic:
                named = len(words) > 1 and tokens[end - 2].text != ","  # GNU's way: `rest...`
                words = words[:-1] if named else [*words[:-1], "__VA_ARGS__"]
            self.defined[name] = Macro(tokens[end + 1 :], tuple(words), variadic)
        else:
            self.defined[name] = Macro(tokens[1:])

    def undefine(self, name: str) -> None:
        """Removes a macro, if it exists (#undef)."""
        self.defined.pop(name, None)
        self._predefined.pop(name, None)

    def is_defined(self, name: str) -> bool:
        return name in self.defined or name in self._predefined or name in SPECIAL

    def without_defined(self, tokens: tuple[Token, ...]) -> list[Token]:
        """Replaces `defined X` and `defined(X)` by 1 or 0."""
        kept: list[Token] = []
        index = 0
        while index < len(tokens):
            if tokens[index].text == "defined" and index + 1 < len(tokens):
                in_parentheses = tokens[index + 1].text == "("
                name = tokens[min(index + 1 + in_parentheses, len(tokens) - 1)].text
                kept.append(Token(str(int(self.is_defined(name))), True))
                index += 4 if in_parentheses else 2
            else:
                kept.append(tokens[index])
                index += 1
        return kept

    def is_called(self, name: str) -> bool:
        """True if a parenthesis behind this name begins the arguments of a macro, of this or of another name."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            macro = self.defined.get(name)
            if macro is None or macro.parameters is not None:
                return macro is not None
            name = macro.body[-1].text if macro.body else name
        return False

    def expand(self, tokens: list[Token], at: Position, *, conditional: bool = False) -> list[Token]:
        """Returns the tokens with macros expanded. `conditional` is True for the condition of an #if."""
        self._depth += 1
        if self._depth > DEEPEST_CALLS:
            raise at.refuse(f"macros have macros as their arguments, more than {DEEPEST_CALLS} deep")
        if self._depth == 1:
            self._most_work += WORK_PER_TOKEN * len(tokens)
        done = self._expanded(tokens, at, conditional)
        self._depth -= 1
        return done

    def _expanded(self, tokens: list[Token], at: Position, conditional: bool) -> list[Token]:
        done: list[Token] = []
        rest = _Rest(tokens)
        while rest.tokens:
            token = rest.pop()
            if token.text in SPECIAL:
                done.append(Token(self._special(token.text, at), token.spaced))
                continue
            if conditional and token.text == "defined":
                done.append(self._defined(rest))
                continue
            macro = None if token.text in token.hidden else self.defined.get(token.text)
            if macro is None and conditional and token.text not in token.hidden:
                macro = self._predefined.get(token.text)
            if macro is None:
                done.append(token)
                continue
            hidden = token.hidden
            arguments: list[list[Token]] = []
            if macro.parameters is not None:
                taken = rest.arguments()
                if taken is None:
                    done.append(token)
                    continue
                arguments, closing = taken
                hidden = hidden & closing.hidden
                arguments = _fitted(arguments, macro)
                if len(arguments) != len(macro.parameters):
                    words = f"macro {token.text} takes {len(macro.parameters)} arguments, not {len(arguments)}"
                    raise at.refuse(words)
            body = self._substituted(macro, arguments, hidden | {token.text}, at)
            self._work += 1 + len(body) + len(hidden) + sum(map(len, arguments))
            if self._work > self._most_work:
                raise at.refuse(f"macros are expanded into more than {self._most_work} tokens")
            if body:
                body[0] = body[0]._replace(spaced=token.spaced)
            rest.push(body)
        return done

    def _defined(self, rest: _Rest) -> Token:
        """Takes the operand of a `defined` that a macro has produced, and returns its value."""
        operand = [rest.pop().text for _ in rest.tokens[-1:]]
        if operand == ["("]:
            operand = [rest.pop().text for _ in rest.tokens[-2:]]
        return Token(str(int(self.is_defined("".join(operand[:1])))), True)

    def _special(self, name: str, at: Position) -> str:
        if name == "__COUNTER__":
            self._counter += 1
            return str(self._counter - 1)
        return str(at.number + at.source.shift) if name == "__LINE__" else f'"{at.source.shown}"'

    def _substituted(
        self, macro: Macro, arguments: list[list[Token]], hidden: frozenset[str], at: Position
    ) -> list[Token]:
        """Returns the macro's body with arguments in place of parameters."""
        places = {name: index for index, name in enumerate(macro.parameters or ())}
        expanded: dict[int, list[Token]] = {}
        made: list[Token] = []
        body = macro.body
        index = 0
        while index < len(body):
            token = body[index]
            place = places.get(token.text)
            if token.text == "#" and macro.parameters is not None and index + 1 < len(body):
                place = places.get(body[index + 1].text)
                if place is not None:
                    made.append(Token(_quoted(arguments[place]), token.spaced))
                    index += 2
                    continue
            if token.text == "##" and made and index + 1 < len(body):
                index += 1
                right = body[index]
                place = places.get(right.text)
                given = [right] if place is None else arguments[place]
                if made[-1].text == "," and place == len(places) - 1 and macro.variadic:
                    made = made + given if given else made[:-1]
                else:
                    _paste(made, given)
            elif place is None:
                made.append(token)
            else:
                pasted = index + 1 < len(body) and body[index + 1].text == "##"
                if not pasted and place not in expanded:
                    expanded[place] = self.expand(list(arguments[place]), at)
                given = arguments[place] if pasted else expanded[place]
                if given:
                    made += [given[0]._replace(spaced=token.spaced), *given[1:]]
                elif pasted:
                    made.append(Token("", token.spaced))
            index += 1
        return [token._replace(hidden=token.hidden | hidden) for token in made if token.text]


PARENTHESES = {"(": 1, ")": -1}


class _Rest:
    """The tokens that are still to be expanded, the next token last.

    For each token it is known whether the parentheses from there on ever close, so that no call is searched in vain.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens: list[Token] = []
        self._least: list[int] = []
        """For each token, the least number of open parentheses behind it or a later token, less those before it."""
        self.push(tokens)

    def push(self, tokens: Sequence[Token]) -> None:
        """Adds tokens, which come next."""
        least = self._least[-1] if self._least else 0
        for token in reversed(tokens):
            least = PARENTHESES.get(token.text, 0) + min(0, least)
            self.tokens.append(token)
            self._least.append(least)

    def pop(self) -> Token:
        self._least.pop()
        return self.tokens.pop()

    def arguments(self) -> tuple[list[list[Token]], Token] | None:
        """Takes a call's arguments and its closing parenthesis; None if there is no call, or it does not end."""
        if not self.tokens or self.tokens[-1].text != "(" or self._least[-1] > 0:
            return None
        self.pop()
        arguments: list[list[Token]] = [[]]
        depth = 1
        while True:
            token = self.pop()
            depth += PARENTHESES.get(token.text, 0)
            if depth == 0:
                return arguments, token
            if token.text == "," and depth == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)


def _fitted(arguments: list[list[Token]], macro: Macro) -> list[list[Token]]:
    """Returns the arguments as C distributes them over the parameters."""
    assert macro.parameters is not None
    count = len(macro.parameters)
    if count == 0 and arguments == [[]]:
        return []
    if macro.variadic:
        tail: list[Token] = []
        for index, each in enumerate(arguments[count - 1 :]):
            tail += [Token(",")] * bool(index) + each
        return [*arguments[: count - 1], tail] if len(arguments) >= count - 1 else arguments
    return arguments


def _paste(made: list[Token], right: list[Token]) -> None:
    """Joins the last token with the first of `right`."""
    left = made.pop()
    if not right:
        made.append(left)
        return
    made.append(Token(left.text + right[0].text, left.spaced, left.hidden & right[0].hidden))
    made += right[1:]


def _quoted(tokens: list[Token]) -> str:
    """Returns the text that the operator # makes of an argument."""
    parts = []
    for index, token in enumerate(tokens):
        text = token.text
        if text[0] in "\"'":
            text = text.replace("\\", "\\\\").replace('"', '\\"')
        parts.append(" " * (token.spaced and index > 0) + text)
    return f'"{"".join(parts)}"'
