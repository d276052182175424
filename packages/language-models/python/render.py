"""Renders chat templates as transformers 5.24 does.

The environment, what it adds to Jinja and the finding of answers follow transformers'
utils/chat_template_utils.py (Apache-2.0, Copyright 2024 The HuggingFace Team).
"""

import json
from datetime import datetime
from functools import lru_cache

from jinja2 import TemplateError, TemplateSyntaxError, nodes, pass_eval_context
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace


class AssistantTracker(Extension):
    """Notes where the text of `{% generation %}` stands."""

    tags = {"generation"}

    def __init__(self, environment):
        super().__init__(environment)
        environment.extend(marks_answers=False, blocks=[], spans=[])

    def parse(self, parser):
        self.environment.marks_answers = True
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_note"), [], [], body).set_lineno(line)

    @pass_eval_context
    def _note(self, context, caller):
        text = caller()
        start = len("".join(self.environment.blocks))
        self.environment.spans.append((start, start + len(text)))
        return text


class TemplateDict:
    def __call__(self, *args, **kwargs):
        return dict(*args, **kwargs)

    def fromkeys(self, *args, **kwargs):
        return dict.fromkeys(*args, **kwargs)


class TemplateNamespace(Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        for name in attributes:
            TemplateNamespace._check_name(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        TemplateNamespace._check_name(name)
        Namespace.__setitem__(self, name, value)

    @staticmethod
    def _check_name(name):
        if isinstance(name, str) and name.startswith("_"):
            raise SecurityError(
                "Chat templates cannot store underscore-prefixed attributes on a namespace,"
                f" but got {name!r}. Please rename the attribute."
            )


def raise_exception(message):
    raise TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(format):
    return datetime.now().strftime(format)


@lru_cache(maxsize=16)
def compile_template(source):
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[AssistantTracker, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = strftime_now
    environment.globals["dict"] = TemplateDict()
    environment.globals["namespace"] = TemplateNamespace
    return environment.from_string(source)


REASONING = ("reasoning_content", "thinking", "reasoning")


def prepare_message(message):
    """Drops fields that are None, and gives the reasoning the names that templates read."""
    message = {key: value for key, value in message.items() if value is not None}
    reasoning = next((message[key] for key in REASONING if message.get(key) is not None), None)
    if reasoning is None:
        return message
    return {"thinking": reasoning, **message, "reasoning_content": reasoning}


def prepare(variables):
    if not variables["messages"]:
        raise ValueError("Cannot apply chat template to an empty conversation. Provide at least one message.")
    for name in ("tools", "documents"):
        if not all(isinstance(item, dict) for item in variables.get(name) or []):
            raise TypeError(f"{name} must be a list of objects")
    return {**variables, "messages": [prepare_message(message) for message in variables["messages"]]}


def find_added(template, variables, text):
    """Finds what each message of the assistant adds to the text of those before it.

    Returns the index of a message in place of its span if the text around it depends on later ones.
    """
    messages = variables["messages"]
    for at, message in enumerate(messages):
        if message.get("role") == "assistant":
            before = template.render({**variables, "messages": messages[:at], "add_generation_prompt": True})
            after = template.render({**variables, "messages": messages[: at + 1], "add_generation_prompt": False})
            yield (len(before), len(after)) if after.startswith(before) and text.startswith(after) else at


def answer(template, variables, wants_answers):
    variables = prepare(variables)
    environment = template.environment
    environment.blocks, environment.spans = [], []
    for block in template.generate(variables):
        environment.blocks.append(block)
    text = "".join(environment.blocks)
    if not wants_answers:
        return {"text": text, "spans": []}
    spans = environment.spans if environment.marks_answers else list(find_added(template, variables, text))
    changed = next((span for span in spans if isinstance(span, int)), None)
    if changed is not None:
        return {"changed": changed}
    return {"text": text, "spans": spans}


def find_line(error):
    """Returns the last line of the template in an error's traceback."""
    line, traceback = getattr(error, "lineno", None), error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def render(request):
    """Answers a request, both as JSON. The answer is empty if the memory does not suffice."""
    kind = "refused"
    try:
        request = json.loads(request)
        kind = "syntax"
        template = compile_template(request["source"])
        kind = "refused"
        reply = answer(template, request["variables"], request["answers"])
    except MemoryError:
        return ""
    except Exception as error:
        name = "" if isinstance(error, TemplateError) else f"{type(error).__name__}: "
        problem, line = f"{name}{error}", find_line(error)
        if kind == "syntax":
            reply = {"syntax": problem, "line": line}
        else:
            reply = {"refused": problem if line is None else f"{problem} (line {line})"}
    return json.dumps(reply)


render
