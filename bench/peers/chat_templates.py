"""Writes what transformers makes of chats by 64 templates, in the styles of public ones, and by 1000 random templates.
Needs transformers (5.24 was used) and jinja2 3.1.6, no PyTorch:

    python chat_templates.py ../../packages/language-models/test/fixtures/chats/transformers.json

A text of more than 200 characters is written as its length and the beginning of its SHA-256, a refusal as null. Another
count and another seed may follow the file. It also checks that the package has the files of the installed Jinja2.
"""

import hashlib
import json
import pathlib
import random
import sys

import jinja2
import markupsafe
from transformers.utils.chat_template_utils import render_jinja_template

PYTHON = pathlib.Path(__file__).parents[2] / "packages/language-models/python"
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a place.\nSays \"rain\" or 'sun' — 日.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "A town"},
                "unit": {"type": "string", "enum": ["°C", "°F"], "default": "°C"},
                "days": {"type": ["integer", "null"], "minimum": 0},
                "hourly": {"type": "boolean", "default": False},
                "where": {"type": "object", "properties": {"lat": {"type": "number"}, "tags": {"type": "array", "items": {"type": "string"}}}},
            },
            "required": ["place"],
        },
        "strict": True,
    },
}
CLOCK = {"type": "function", "function": {"name": "clock", "description": "", "parameters": {"type": "object", "properties": {}}}}


def user(content):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(name, arguments, **more):
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


SYSTEM = {"role": "system", "content": "You are  helpful.\n"}
CHATS = {
    "short": {"messages": [user("Hello!"), assistant("Hi there.")]},
    "system": {"messages": [SYSTEM, user(" What is 2 + 2?\n"), assistant("  4 \n")]},
    "turns": {
        "messages": [SYSTEM, user("One"), assistant("1"), user("Two\n\n  lines"), assistant("\n2\n"), user("Three")]
    },
    "unicode": {"messages": [user("Größe 日本 😀\u00a0"), assistant("👩‍👩‍👧 ok\u3000\t"), user("\u2028e\u0301 '\" <&> \\n")]},
    "thinking": {
        "messages": [
            user("write code"),
            assistant("<think>\nhm\n</think>\n\n    def f():\n        return 1  \n"),
            user("and now?"),
            assistant("so", reasoning_content="Because.\n"),
            user("last"),
            assistant("<think>x</think>end", thinking=None, reasoning="older"),
        ],
        "enable_thinking": False,
    },
    "tools": {
        "messages": [
            SYSTEM,
            user("Weather?"),
            assistant(None, tool_calls=[call("get_weather", {"place": "Köln", "days": 3, "hourly": True, "where": None, "f": 0.5, "l": [1, "a", None, {"b": False}]}, id="abc123def")]),
            {"role": "tool", "name": "get_weather", "tool_call_id": "abc123def", "content": '{"rain": true}'},
            assistant("It rains."),
        ],
        "tools": [WEATHER, CLOCK],
        "enable_thinking": True,
    },
    "two calls": {
        "messages": [
            user("Both?"),
            assistant("", tool_calls=[call("get_weather", '{"place": "X"}', id="000000001"), call("clock", {}, id="000000002")]),
            {"role": "tool", "name": "get_weather", "tool_call_id": "000000001", "content": {"ok": True, "n": 1.5, "none": None}},
            {"role": "tool", "name": "clock", "tool_call_id": "000000002", "content": "12:00"},
        ],
        "tools": [WEATHER],
    },
    "parts": {
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
            user([{"type": "image"}, {"type": "text", "text": "What is this? "}]),
            assistant([{"type": "text", "text": "A cat"}]),
        ]
    },
    "documents": {
        "messages": [user("Which?"), assistant("The first", citations=[0, 1])],
        "documents": [{"title": "A", "text": "alpha\nbeta", "n": 1}, {"title": "B <b>", "text": "it's"}],
        "controls": {"length": "long", "originality": None},
        "date_string": "26 Jul 2024",
    },
    "wrong order": {"messages": [user("a"), user("b"), assistant("c"), assistant("d"), SYSTEM]},
    "odd fields": {
        "messages": [
            {"role": "developer", "content": "dev", "name": None, "n": 0, "big": 12345678901234567890},
            user(""),
            assistant("x", name="bob", weight=1, flag=True),
            {"role": "custom", "content": "?"},
        ],
        "custom_flag": True,
    },
}
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}

CHATML = """{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
ALTERNATE = """{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"""
SYSTEM_FIRST = """{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"""
TOOL_XML = """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}
        {{- messages[0].content + '\\n\\n' }}
    {%- endif %}
    {{- "# Tools\\n\\nYou may call functions.\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n\\nReturn {\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}<|im_end|>\\n" }}
{%- else %}
    {%- if messages[0].role == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}"""

TEMPLATES = {
    "chatml": CHATML,
    "chatml marked": """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.role == 'assistant' %}
        {%- generation %}
        {{- (message.content or '') + '<|im_end|>' }}
        {%- endgeneration %}
    {%- else %}
        {{- message.content ~ '<|im_end|>' }}
    {%- endif %}
    {{- '\\n' }}
{%- endfor %}""",
    "chatml marked in lines": """{% for message in messages %}
<|im_start|>{{ message.role }}
    {% if message.role == 'assistant' %}
    {% generation %}
{{ message.content }}<|im_end|>
    {% endgeneration %}
    {% else %}
{{ message.content }}<|im_end|>
    {% endif %}
{% endfor %}
{% if add_generation_prompt %}
<|im_start|>assistant
{% endif %}
""",
    "chatml default system": """{% if not messages or messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful AI assistant<|im_end|>\\n' }}{% endif %}""" + CHATML,
    "commented generation": """{# answers stand in {% generation %} in later versions #}{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}""",
    "set in generation": """{% set who = 'none' %}{% for m in messages %}{% generation %}{% set who = m.role %}{{ who }}:{{ m.content }}{% endgeneration %}[{{ who }}]{% endfor %}""",
    "macro in generation": """{% macro part(m) %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ eos_token }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endmacro %}{% for m in messages %}<{{ m.role }}>{{ part(m) }}{% endfor %}""",
    "llama 2": SYSTEM_FIRST + """{% for message in loop_messages %}""" + ALTERNATE + """{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}""",
    "llama 2 lenient": SYSTEM_FIRST + """{% for message in loop_messages %}{% set content = ('<<SYS>>' ~ system_message ~ '<</SYS>>' if loop.first and system_message else '') ~ message['content'] %}{{ bos_token ~ '[INST] ' ~ content | trim ~ ' [/INST]' if message['role'] == 'user' else ' ' ~ content | trim ~ ' ' ~ eos_token }}{% endfor %}""",
    "llama 3": """{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}""",
    "llama 3.1 tools": """{{- bos_token }}
{%- if custom_tools is defined %}
    {%- set tools = custom_tools %}
{%- endif %}
{%- if not tools_in_user_message is defined %}
    {%- set tools_in_user_message = true %}
{%- endif %}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if builtin_tools is defined or tools is not none %}
    {{- "Environment: ipython\\n" }}
{%- endif %}
{%- if builtin_tools is defined %}
    {{- "Tools: " + builtin_tools | reject('equalto', 'code_interpreter') | join(", ") + "\\n\\n"}}
{%- endif %}
{{- "Today Date: " + date_string + "\\n\\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- if tools_in_user_message and not tools is none %}
    {%- if messages | length != 0 %}
        {%- set first_user_message = messages[0]['content']|trim %}
        {%- set messages = messages[1:] %}
    {%- else %}
        {{- raise_exception("Cannot put tools in the first user message when there's no first user message!") }}
    {%- endif %}
    {{- '<|start_header_id|>user<|end_header_id|>\\n\\n' -}}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
    {{- first_user_message + "<|eot_id|>"}}
{%- endif %}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("This model only supports single tool-calls at once!") }}
        {%- endif %}
        {%- set tool_call = message.tool_calls[0].function %}
        {{- '{"name": "' + tool_call.name + '", ' }}
        {{- '"parameters": ' }}
        {{- tool_call.arguments | tojson }}
        {{- "}" }}
        {{- "<|eot_id|>" }}
    {%- elif message.role == "tool" or message.role == "ipython" %}
        {{- "<|start_header_id|>ipython<|end_header_id|>\\n\\n" }}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
        {{- "<|eot_id|>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
""",
    "llama 4": """{{- bos_token }}{%- for message in messages %}{{- '<|header_start|>' + message['role'] + '<|header_end|>\\n\\n' }}{%- if message['content'] is string %}{{- message['content'] }}{%- else %}{%- for content in message['content'] %}{%- if content['type'] == 'image' %}{{- '<|image|>' }}{%- elif content['type'] == 'text' %}{{- content['text'] | trim }}{%- endif %}{%- endfor %}{%- endif %}{{- "<|eot|>" }}{%- endfor %}""",
    "mistral 7b": """{{ bos_token }}{% for message in messages %}""" + ALTERNATE + """{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token}}{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}{% endfor %}""",
    "mistral tools": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or message.role == "tool_results" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("After the optional system message, conversation roles must alternate user/assistant/user/assistant/...") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[AVAILABLE_TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"type": "function", "function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}
                    {{- ", " }}
                {%- else %}
                    {{- "]" }}
                {%- endif %}
            {%- endfor %}
            {{- "[/AVAILABLE_TOOLS]" }}
            {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[TOOL_CALLS] [" }}
        {%- for tool_call in message.tool_calls %}
            {%- set out = tool_call.function|tojson %}
            {{- out[:-1] }}
            {%- if not tool_call.id is defined or tool_call.id|length != 9 %}
                {{- raise_exception("Tool call IDs should be alphanumeric strings with length 9!") }}
            {%- endif %}
            {{- ', "id": "' + tool_call.id + '"}' }}
            {%- if not loop.last %}
                {{- ", " }}
            {%- else %}
                {{- "]" + eos_token }}
            {%- endif %}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool_results" or message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[TOOL_RESULTS] {"content": ' + content|string + ", " }}
        {{- '"call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported!") }}
    {%- endif %}
{%- endfor %}
""",
    "mistral small": """{%- set default_system_message = "You are a model.\\nToday is " ~ (date_string or strftime_now("%Y")[:0]) %}{{- bos_token }}{%- if messages[0]['role'] == 'system' %}{%- if messages[0]['content'] is string %}{%- set system_message = messages[0]['content'] %}{%- else %}{%- set system_message = messages[0]['content'][0]['text'] %}{%- endif %}{%- set loop_messages = messages[1:] %}{%- else %}{%- set system_message = default_system_message %}{%- set loop_messages = messages %}{%- endif %}{{- '[SYSTEM_PROMPT]' + system_message + '[/SYSTEM_PROMPT]' }}{%- for message in loop_messages %}{%- if message['role'] == 'user' %}{%- if message['content'] is string %}{{- '[INST]' + message['content'] + '[/INST]' }}{%- else %}{{- '[INST]' }}{%- for block in message['content'] %}{{- block['text'] if block['type'] == 'text' else '[IMG]' if block['type'] in ['image', 'image_url'] else raise_exception('Only text and image blocks are supported in message content!') }}{%- endfor %}{{- '[/INST]' }}{%- endif %}{%- elif message['role'] == 'assistant' %}{{- (message['content'] if message['content'] is string else message['content'][0]['text']) + eos_token }}{%- endif %}{%- endfor %}""",
    "gemma": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}""" + ALTERNATE + """{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}""",
    "gemma 3": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\\n\\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\\n\\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<start_of_turn>model\\n'}}
{%- endif -%}
""",
    "qwen 2": """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content']}}{% if (loop.last and add_generation_prompt) or not loop.last %}{{ '<|im_end|>' + '\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt and messages[-1]['role'] != 'assistant' %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "qwen 2.5 tools": TOOL_XML + """
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- message.content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "qwen 3": TOOL_XML + """
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning_content = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning_content = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set reasoning_content = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and reasoning_content) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning_content.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {%- if message.tool_calls %}
            {%- for tool_call in message.tool_calls %}
                {%- if (loop.first and content) or (not loop.first) %}
                    {{- '\\n' }}
                {%- endif %}
                {%- if tool_call.function %}
                    {%- set tool_call = tool_call.function %}
                {%- endif %}
                {{- '<tool_call>\\n{"name": "' }}
                {{- tool_call.name }}
                {{- '", "arguments": ' }}
                {%- if tool_call.arguments is string %}
                    {{- tool_call.arguments }}
                {%- else %}
                    {{- tool_call.arguments | tojson }}
                {%- endif %}
                {{- '}\\n</tool_call>' }}
            {%- endfor %}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' }}
        {{- content }}
        {{- '\\n</tool_response>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}""",
    "qwen 3 coder": """{% macro render_extra_keys(json_dict, handled_keys) %}
    {%- if json_dict is mapping %}
        {%- for json_key in json_dict if json_key not in handled_keys %}
            {%- if json_dict[json_key] is mapping or (json_dict[json_key] is sequence and json_dict[json_key] is not string) %}
                {{- '\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | tojson | safe) ~ '</' ~ json_key ~ '>' }}
            {%- else %}
                {{-'\\n<' ~ json_key ~ '>' ~ (json_dict[json_key] | string) ~ '</' ~ json_key ~ '>' }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
{% endmacro %}
{%- if tools is iterable and tools | length > 0 %}
    {{- "<tools>" }}
    {%- for tool in tools %}
        {%- if tool.function is defined %}
            {%- set tool = tool.function %}
        {%- endif %}
        {{- "\\n<function>\\n<name>" ~ tool.name ~ "</name>" }}
        {%- if tool.description is defined %}
            {{- '\\n<description>' ~ (tool.description | trim) ~ '</description>' }}
        {%- endif %}
        {{- '\\n<parameters>' }}
        {%- if tool.parameters is defined and tool.parameters is mapping and tool.parameters.properties is defined and tool.parameters.properties is mapping %}
            {%- for param_name, param_fields in tool.parameters.properties|items %}
                {{- '\\n<parameter>\\n<name>' ~ param_name ~ '</name>' }}
                {%- if param_fields.type is defined %}
                    {{- '\\n<type>' ~ (param_fields.type | string) ~ '</type>' }}
                {%- endif %}
                {%- set handled_keys = ['name', 'type', 'description'] %}
                {{- render_extra_keys(param_fields, handled_keys) }}
                {{- '\\n</parameter>' }}
            {%- endfor %}
        {%- endif %}
        {{- render_extra_keys(tool.parameters, ['type', 'properties']) }}
        {{- '\\n</parameters>' }}
        {{- render_extra_keys(tool, ['type', 'name', 'description', 'parameters']) }}
        {{- '\\n</function>' }}
    {%- endfor %}
    {{- "\\n</tools>" }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" and message.tool_calls is defined and message.tool_calls is iterable and message.tool_calls | length > 0 %}
        {{- '<|im_start|>' + message.role }}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}
            {%- if tool_call.arguments is defined %}
                {%- for args_name, args_value in tool_call.arguments|items %}
                    {{- '<parameter=' + args_name + '>\\n' }}
                    {%- set args_value = args_value | tojson | safe if args_value is mapping or (args_value is sequence and args_value is not string) else args_value | string %}
                    {{- args_value }}
                    {{- '\\n</parameter>\\n' }}
                {%- endfor %}
            {%- endif %}
            {{- '</function>\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' ~ message.content ~ '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}""",
    "phi 2": """{% for m in messages %}{{ 'Instruct: ' if m.role == 'user' else 'Output: ' if m.role == 'assistant' else '' }}{{ m.content }}
{% endfor %}""",
    "phi 3": """{{ bos_token }}{% for message in messages %}{% if (message['role'] == 'user') %}{{'<|user|>' + '\\n' + message['content'] + '<|end|>' + '\\n' + '<|assistant|>' + '\\n'}}{% elif (message['role'] == 'assistant') %}{{message['content'] + '<|end|>' + '\\n'}}{% endif %}{% endfor %}""",
    "phi 3.5": """{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\\n' + message['content'] + '<|end|>\\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\\n' + message['content'] + '<|end|>\\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}""",
    "phi 4": """{% for message in messages %}{% if (message['role'] == 'system') %}{{'<|im_start|>system<|im_sep|>' + message['content'] + '<|im_end|>'}}{% elif (message['role'] == 'user') %}{{'<|im_start|>user<|im_sep|>' + message['content'] + '<|im_end|><|im_start|>assistant<|im_sep|>'}}{% elif (message['role'] == 'assistant') %}{{message['content'] + '<|im_end|>'}}{% endif %}{% endfor %}""",
    "phi 4 mini": """{% for message in messages %}{% if message['role'] == 'system' and 'tools' in message and message['tools'] is not none %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|tool|>' + message['tools'] + '<|/tool|>' + '<|end|>' }}{% else %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}""",
    "deepseek coder": """{%- set ns = namespace(found=false) -%}{%- for message in messages -%}{%- if message['role'] == 'system' -%}{%- set ns.found = true -%}{%- endif -%}{%- endfor -%}{{bos_token}}{%- if not ns.found -%}{{'You are an AI programming assistant.\\n'}}{%- endif %}{%- for message in messages %}{%- if message['role'] == 'system' %}{{ message['content'] }}{%- else %}{%- if message['role'] == 'user' %}{{'### Instruction:\\n' + message['content'] + '\\n'}}{%- else %}{{'### Response:\\n' + message['content'] + '\\n<|EOT|>\\n'}}{%- endif %}{%- endif %}{%- endfor %}{{'### Response:\\n'}}""",
    "deepseek 2": """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ 'User: ' + message['content'] + '\\n\\n' }}{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' + message['content'] + eos_token }}{% elif message['role'] == 'system' %}{{ message['content'] + '\\n\\n' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}""",
    "deepseek r1": """{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{% set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') %}{%- for message in messages %}{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == 'user' %}{%- set ns.is_tool = false -%}{{'<｜User｜>' + message['content']}}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is none %}{%- set ns.is_tool = false -%}{%- for tool in message['tool_calls']%}{%- if not ns.is_first %}{{'<｜Assistant｜><｜tool▁calls▁begin｜>' + tool['type'] + tool['function']['name'] + '\\n' + '```json' + '\\n' + tool['function']['arguments'] + '\\n' + '```'}}{%- set ns.is_first = true -%}{%- endif %}{%- endfor %}{%- endif %}{%- if message['role'] == 'assistant' and message['content'] is not none %}{%- if ns.is_tool %}{{'<｜tool▁outputs▁end｜>' + message['content'] + '<｜end｜>'}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}{{'<｜Assistant｜>' + content + '<｜end｜>'}}{%- endif %}{%- endif %}{%- if message['role'] == 'tool' %}{%- set ns.is_tool = true -%}{%- if ns.is_output_first %}{{'<｜tool▁outputs▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- set ns.is_output_first = false %}{%- else %}{{'\\n<｜tool▁output▁begin｜>' + message['content'] + '<｜tool▁output▁end｜>'}}{%- endif %}{%- endif %}{%- endfor -%}{% if ns.is_tool %}{{'<｜tool▁outputs▁end｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜Assistant｜><think>\\n'}}{% endif %}""",
    "command r": """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% elif false == true %}{% set loop_messages = messages %}{% set system_message = 'You are Command-R' %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% if system_message != false %}{{ '<|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>' + system_message + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% for message in loop_messages %}""" + ALTERNATE + """{% set content = message['content'] %}{% if message['role'] == 'user' %}{{ '<|START_OF_TURN_TOKEN|><|USER_TOKEN|>' + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{% elif message['role'] == 'assistant' %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>'  + content.strip() + '<|END_OF_TURN_TOKEN|>' }}{% endif %}{% endfor %}""",
    "command r tools": """
{%- macro json_to_python_type(json_spec) %}
{%- set basic_type_map = {
    "string": "str",
    "number": "float",
    "integer": "int",
    "boolean": "bool"
} %}

{%- if basic_type_map[json_spec.type] is defined %}
    {{- basic_type_map[json_spec.type] }}
{%- elif json_spec.type == "array" %}
    {{- "List[" +  json_to_python_type(json_spec['items']) + "]"}}
{%- elif json_spec.type == "object" %}
    {{- "Dict[str, " + json_to_python_type(json_spec.additionalProperties or {}) + ']'}}
{%- elif json_spec.type is iterable %}
    {{- "Union[" }}
    {%- for t in json_spec.type %}
      {{- json_to_python_type({"type": t}) }}
      {%- if not loop.last %}
        {{- "," }}
    {%- endif %}
    {%- endfor %}
    {{- "]" }}
{%- else %}
    {{- "Any" }}
{%- endif %}
{%- endmacro %}

{%- macro document_turn(documents) -%}
{%- for doc in documents %}
Document: {{ loop.index0 }}
{% for key, val in doc.items() %}
{{ key|title }}: {{ val|string|indent(2) }}
{% endfor %}
{%- if not loop.last %}

{% endif %}
{%- endfor %}
{%- endmacro %}
{{- bos_token }}
{%- for tool in tools or [] %}
def {{ tool.function.name }}(
{%- for name, field in tool.function.parameters.properties.items() %}
{{ name }}: {% if name not in tool.function.parameters.required %}Optional[{{ json_to_python_type(field) }}] = None{% else %}{{ json_to_python_type(field) }}{% endif %}{{ ", " if not loop.last }}
{%- endfor %}) -> List[Dict]:
    \"\"\"{{ tool.function.description | wordwrap(12) | indent }}
    \"\"\"
{% endfor %}
{%- if documents %}{{ document_turn(documents) }}{% endif %}
{%- for message in messages if message.content is string %}
{{ '<|' ~ message.role|upper ~ '|>' ~ message.content|trim }}
{%- endfor %}""",
    "aya": """{{ bos_token }}{% for message in messages %}{% if message.role in ('user', 'system') %}{{ '<|START_OF_TURN_TOKEN|><|' ~ message.role.upper() ~ '_TOKEN|>' ~ message.content ~ '<|END_OF_TURN_TOKEN|>' }}{% else %}{{ '<|CHATBOT_TOKEN|>' ~ message.content }}{% endif %}{% endfor %}""",
    "zephyr": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>
' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>
'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}""",
    "openchat": """{{ bos_token }}{% for message in messages %}{{ 'GPT4 Correct ' + message['role'].title() + ': ' + message['content'] + '<|end_of_turn|>'}}{% endfor %}{% if add_generation_prompt %}{{ 'GPT4 Correct Assistant:' }}{% endif %}""",
    "vicuna": """{% for message in messages %}{% if message.role == 'system' %}{{ message.content ~ ' ' }}{% else %}{{ {'user': 'USER', 'assistant': 'ASSISTANT'}.get(message.role, message.role | upper) ~ ': ' ~ message.content ~ (eos_token if message.role == 'assistant' else ' ') }}{% endif %}{% endfor %}{{ 'ASSISTANT:' if add_generation_prompt }}""",
    "alpaca": """{% for message in messages %}
    {%- if message.role == 'user' -%}
    ### Instruction:
    {{ message.content }}

    {% elif message.role == 'assistant' -%}
    ### Response:
    {{ message.content -}}
    {% else -%}
    {{ message.content }}

    {% endif -%}
{% endfor %}
""",
    "falcon": """{% for message in messages %}{% if not loop.first %}{{ '\n' }}{% endif %}{% if message['role'] == 'system' %}{{ 'System: ' }}{% elif message['role'] == 'user' %}{{ 'User: ' }}{% elif message['role'] == 'assistant' %}{{ 'Falcon: ' }}{% endif %}{{ message['content'] }}{% endfor %}{% if add_generation_prompt %}{{ '\n' + 'Falcon:' }}{% endif %}""",
    "falcon h1": """{%- set ns = namespace(answers=[], count=0) %}{% for m in messages if m.role == 'assistant' %}{% set ns.count = ns.count + 1 %}{% set ns.answers = ns.answers + [m.content] %}{% endfor %}{{ ns.count }}:{{ ns.answers }}{{ ns.answers | tojson }}""",
    "solar": """{% for message in messages %}{{ '### ' ~ (message.role | capitalize) ~ ':\\n' ~ message.content }}{{ '\\n\\n' if not loop.last else '' }}{% endfor %}""",
    "internlm": """{{ bos_token }}{% for message in messages %}{% set role = message.role | replace('developer', 'system') %}{{ '<|im_start|>' ~ role ~ '\\n' ~ message.content | default('', true) ~ '<|im_end|>\\n' }}{% endfor %}""",
    "baichuan": """{% for message in messages %}{{ loop.cycle('<reserved_106>', '<reserved_107>') }}{{ message.content }}{% endfor %}""",
    "chatglm": """{% for message in messages %}{% if loop.first %}[gMASK]sop<|{{ message['role'] }}|>
 {{ message['content'] }}{% else %}<|{{ message['role'] }}|>
 {{ message['content'] }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}""",
    "glm 4": """[gMASK]<sop>{%- for item in messages %}{%- if item['tools'] is defined or (loop.first and tools) %}<|system|>
# 可用工具{% for tool in tools %}
## {{ tool['function']['name'] }}

{{ tool['function'] | tojson(indent=4, ensure_ascii=False) }}{% endfor %}{% endif %}{%- if item['content'] is not none and item['content'] %}<|{{ item['role'] }}|>{{ item['metadata'] }}
{{ item['content'] }}{%- endif %}{%- endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}""",
    "glm 4.5": """{%- macro visible_text(content) -%}{%- if content is string -%}{{- content }}{%- elif content is iterable and content is not mapping -%}{%- for item in content -%}{%- if item is mapping and item.type == 'text' -%}{{- item.text }}{%- elif item is string -%}{{- item }}{%- endif -%}{%- endfor -%}{%- else -%}{{- content }}{%- endif -%}{%- endmacro -%}
{%- set ns = namespace(last_user_index=-1) %}{%- for m in messages %}{%- if m.role == 'user' %}{% set ns.last_user_index = loop.index0 -%}{%- endif %}{%- endfor %}
{% for m in messages %}
{%- if m.role == 'user' -%}<|user|>
{{ visible_text(m.content) }}
{{- '/nothink' if (enable_thinking is defined and not enable_thinking and not visible_text(m.content).endswith("/nothink")) else '' -}}
{%- elif m.role == 'assistant' -%}
<|assistant|>
{%- if loop.index0 > ns.last_user_index and m.reasoning_content -%}
{{ '\\n<think>' + m.reasoning_content.strip() +  '</think>'}}
{%- else -%}
{{ '\\n<think></think>' }}
{%- endif -%}
{%- if visible_text(m.content).strip() -%}
{{ '\\n' + visible_text(m.content).strip() }}
{%- endif -%}
{%- for tc in m.tool_calls or [] %}{%- set tc = tc.function %}
{{ '\\n<tool_call>' + tc.name }}
{% set _args = tc.arguments %}
{% for k, v in _args.items() %}
<arg_key>{{ k }}</arg_key>
<arg_value>{{ v | tojson(ensure_ascii=False) if v is not string else v }}</arg_value>
{% endfor %}</tool_call>{% endfor %}
{%- else -%}<|{{ m.role }}|>
{{ visible_text(m.content) }}
{%- endif -%}
{%- endfor -%}""",
    "granite": """{%- if messages[0]['role'] == 'system' %}
 {%- set system_message = messages[0]['content'] %}
 {%- set loop_messages = messages[1:] %}
{%- else %}
 {%- set system_message = "Knowledge Cutoff Date: April 2024.\\nToday's Date: " + (date_string or '?') + "." %}
 {%- if documents %}
  {%- set system_message = system_message + "\\n\\nWrite the response by strictly aligning with the facts in the provided documents." %}
 {%- endif %}
 {%- if 'citations' in controls and documents %}
  {%- set system_message = system_message + ' Cite.' %}
 {%- endif %}
 {%- set loop_messages = messages %}
{%- endif %}
{{- '<|start_of_role|>system<|end_of_role|>' + system_message + '<|end_of_text|>\\n' }}
{%- if tools %}
 {{- '<|start_of_role|>tools<|end_of_role|>' }}
 {{- tools | tojson(indent=4) }}
 {{- '<|end_of_text|>\\n' }}
{%- endif %}
{%- if documents %}
 {%- for document in documents %}
  {{- 'Document ' + loop.index | string + '\\n' + document['text'] }}
  {%- if not loop.last %}
   {{- '\\n\\n'}}
  {%- endif%}
 {%- endfor %}
{%- endif %}
{%- for message in loop_messages %}
 {{- '<|start_of_role|>' + message['role'] + '<|end_of_role|>' + message['content'] + '<|end_of_text|>\\n' }}
 {%- if loop.last and add_generation_prompt %}
  {{- '<|start_of_role|>assistant' }}
  {%- if controls %}
   {{- ' ' + controls | tojson()}}
  {%- endif %}
  {{- '<|end_of_role|>' }}
 {%- endif %}
{%- endfor %}""",
    "granite 4": """{%- set g = namespace(text='', last=None) %}{%- for m in messages %}{%- if m.content is not string and m.content is iterable %}{%- for e in m.content %}{%- if e.type == 'text' %}{%- set g.text = g.text + e.text + '|' %}{%- endif %}{%- endfor %}{%- else %}{%- set g.text = g.text ~ m.content ~ '|' %}{%- endif %}{% set g.last = m %}{%- endfor %}{{ g.text }}{{ g.last.role }}""",
    "hermes 2 pro": """{{bos_token}}{{ '<|im_start|>system\\nYou are a function calling AI model. <tools> ' }}{%- for tool in tools or [] %}{%- if tool.function is defined %}{%- set tool = tool.function %}{%- endif %}{{- '{"type": "function", "function": ' }}{{- '{"name": "' + tool.name + '", ' }}{{- '"description": "' + tool.name + '(' }}{%- for param_name, param_fields in tool.parameters.properties|items %}{{- param_name + ": " + param_fields.type|string }}{%- if not loop.last %}{{- ", " }}{%- endif %}{%- endfor %}{{- ")" }}{%- if tool.return is defined %}{{- " -> " + tool.return }}{%- endif %}{{- " - " + tool.description + "\\n\\n" }}{{- tool.parameters | tojson }}{{- '}' }}{%- endfor %}{{- ' </tools><|im_end|>\\n' }}{%- for message in messages %}{%- if message.role == "tool" %}{%- if not loop.first and loop.previtem.role != "tool" %}{{- '<|im_start|>' + message.role + '\\n' }}{%- endif %}{{- '<tool_response>\\n' }}{{- message.content }}{{- '\\n</tool_response>' }}{%- if loop.last or loop.nextitem.role != "tool" %}{{- '<|im_end|>' }}{%- endif %}{%- else %}{{- '<|im_start|>' + message.role + '\\n' ~ message.content ~ '<|im_end|>' + '\\n' }}{%- endif %}{%- endfor %}""",
    "functionary": """{%- macro show(schema, depth=0) -%}{%- if schema.type == 'object' -%}{ {%- for k, v in schema.properties.items() | sort(attribute=0) %}
{{ '  ' * (depth + 1) }}{{ k }}{{ '' if k in (schema.required or []) else '?' }}: {{ show(v, depth + 1) }},{%- endfor %}
{{ '  ' * depth }}}{%- elif schema.enum is defined -%}{{ schema.enum | map('tojson') | join(' | ') }}{%- elif schema.type == 'array' -%}{{ show(schema['items'], depth) }}[]{%- elif schema.type is string -%}{{ schema.type }}{%- else -%}{{ schema.type | join(' | ') }}{%- endif -%}{%- endmacro -%}
namespace functions {
{% for tool in tools or [] %}
// {{ tool.function.description.split('\\n') | join('\\n// ') }}
type {{ tool.function.name }} = (_: {{ show(tool.function.parameters) }}) => any;
{% endfor %}
} // namespace functions
{% for m in messages %}{{ m.role }}: {{ m.content if m.content is defined else '' }}
{% endfor %}""",
    "nemotron": """{%- set ns = namespace(enable_thinking=true) -%}{%- for message in messages -%}{%- set content = message['content'] -%}{%- if message['role'] == 'user' or message['role'] == 'system' -%}{%- if '/think' in content -%}{%- set ns.enable_thinking = true -%}{%- elif '/no_think' in content -%}{%- set ns.enable_thinking = false -%}{%- endif -%}{%- endif -%}{{ '<SPECIAL_10>' ~ message.role | title ~ '\\n' ~ content.replace('/think', '').strip() ~ '\\n' }}{%- endfor -%}{%- if add_generation_prompt -%}{{ '<SPECIAL_11>Assistant\\n' }}{%- if ns.enable_thinking is defined and ns.enable_thinking is false -%}{{ '<think></think>' }}{%- else -%}{{ '<think>\\n' }}{%- endif -%}{%- endif -%}""",
    "smollm 2": """{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "smollm 3": """{%- if enable_thinking is not defined -%}{%- set enable_thinking = true -%}{%- endif -%}{%- set reasoning_mode = "/think" if enable_thinking else "/no_think" -%}{%- set custom_instructions = "" -%}{%- if messages[0].role == "system" -%}{%- set system_message = messages[0].content -%}{%- if "/no_think" in system_message -%}{%- set reasoning_mode = "/no_think" -%}{%- endif -%}{%- set custom_instructions = system_message.replace("/no_think", "").rstrip() -%}{%- endif -%}
{{- "<|im_start|>system\\nReasoning Mode: " + reasoning_mode + "\\n\\n" -}}{{ custom_instructions or "You are SmolLM." }}<|im_end|>
{% for message in messages -%}
  {%- set content = message.content if message.content is string else "" -%}
  {%- if message.role == "user" -%}
    {{ "<|im_start|>" + message.role + "\\n"  + content + "<|im_end|>\\n" }}
  {%- elif message.role == "assistant" -%}
    {% generation %}
    {%- if reasoning_mode == "/think" -%}
      {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
    {%- else -%}
      {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
    {%- endif -%}
    {% endgeneration %}
  {%- elif message.role == "tool" -%}
  {{ "<|im_start|>" + "user\\n"  + content + "<|im_end|>\\n" }}
  {%- endif -%}
{%- endfor -%}""",
    "olmo": """{{ eos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '<|user|>\n' + message['content'] }}{% elif message['role'] == 'assistant' %}{% generation %}{{ '<|assistant|>\n'  + message['content'] + eos_token }}{% endgeneration %}{% endif %}{% if loop.last and add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}{% endfor %}""",
    "tulu": """{% for message in messages -%}
<|{{ message.role }}|>
{{ message.content }}{{ eos_token if message.role == 'assistant' and not loop.last }}
{% endfor -%}""",
    "stablelm": """{%- for message in messages -%}
{%- if message.role is eq 'system' or message.role is in(['developer', 'custom']) -%}
{%- continue -%}
{%- endif -%}
{%- if loop.index > 4 -%}{%- break -%}{%- endif -%}
{{ loop.index }}/{{ loop.length }} {{ loop.revindex0 }} {{ message.content }}
{% endfor -%}""",
    "dbrx": """{%- set total = namespace(n=0) -%}{%- for m in messages recursive -%}{%- set total.n = total.n + (m.content | string | length) -%}{{ loop.depth }}{{ m.role[:1] }}{%- endfor -%}={{ total.n }}{{ ' ok' if total.n > 10 else ' short' }}{{ messages | map(attribute='role') | unique | list }}{{ messages | groupby('role') | map('first') | list }}""",
    "jamba": """{%- set roles = dict(user='<|user|>', assistant='<|bot|>') -%}{%- for m in messages -%}{{ roles[m.role] | default('<|other|>') }}{{ m.content | string | truncate(12, true, '…') }}{%- endfor -%}{{ roles | dictsort }}{{ roles.items() | list }}""",
    "exaone": """{% for message in messages %}{% if loop.first and message['role'] != 'system' %}{{ '[|system|][|endofturn|]\n' }}{% endif %}{{ '[|' + message['role'] + '|]' ~ message['content'] }}{% if message['role'] == 'user' %}{{ '\n' }}{% else %}{{ '[|endofturn|]\n' }}{% endif %}{% endfor %}""",
    "gpt oss": """{%- macro render_typescript_type(param_spec, required_params, is_nullable=false) -%}
    {%- if param_spec.type == "array" -%}
        {{- render_typescript_type(param_spec['items'], required_params) ~ "[]" }}
    {%- elif param_spec.type is defined and param_spec.type is iterable and param_spec.type is not string and param_spec.type is not mapping and param_spec.type[0] is defined -%}
        {%- if param_spec.type | length > 1 -%}
            {{- param_spec.type | join(" | ") }}
        {%- else -%}
            {{- param_spec.type[0] }}
        {%- endif -%}
    {%- elif param_spec.enum -%}
        {{- '"' + param_spec.enum|join('" | "') + '"' -}}
    {%- elif param_spec.default is defined -%}
        {{- param_spec.type }}, // default: {{ param_spec.default|tojson }}
    {%- else -%}
        {{- param_spec.type }}
    {%- endif -%}
{%- endmacro -%}
{{- "<|start|>system<|message|>Current date: " ~ (date_string or '') ~ "<|end|>" }}
{%- for tool in tools or [] %}
    {%- for n, s in tool.function.parameters.properties.items() %}
        {{- n + ': ' }}{{ render_typescript_type(s, []) }}{{ ';' }}
    {%- endfor %}
{%- endfor %}
{%- for message in messages -%}
    {%- if message.role == 'assistant' -%}
        {%- if message.thinking %}
            {{- "<|start|>assistant<|channel|>analysis<|message|>" + message.thinking + "<|end|>" }}
        {%- endif %}
        {%- if "tool_calls" in message %}
            {%- set tool_call = message.tool_calls[0] %}
            {%- if tool_call.function %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- "<|start|>assistant to=functions." ~ tool_call.name ~ "<|message|>" ~ tool_call.arguments|tojson ~ "<|call|>" }}
        {%- elif loop.last and not add_generation_prompt %}
            {{- "<|start|>assistant<|channel|>final<|message|>" ~ message.content ~ "<|return|>" }}
        {%- else %}
            {{- "<|start|>assistant<|channel|>final<|message|>" ~ message.content ~ "<|end|>" }}
        {%- endif %}
    {%- else -%}
        {{- "<|start|>" ~ message.role ~ "<|message|>" ~ message.content|tojson ~ "<|end|>" }}
    {%- endif -%}
{%- endfor -%}""",
    "kimi": """{% macro content_of(m) %}{% set c = m.get('content') %}{% if c is string %}{{ c }}{% elif c is not none %}{% for part in c %}{{ '<|media|>' if part.type == 'image' or 'image' in part or 'image_url' in part else part.text }}{% endfor %}{% endif %}{% endmacro %}{%- for message in messages -%}{%- if loop.first and messages[0]['role'] != 'system' -%}<|im_system|>system<|im_middle|>You are Kimi<|im_end|>{%- endif -%}{%- set role_name = message.get('name') or message['role'] -%}<|im_{{ message.role }}|>{{ role_name }}<|im_middle|>{{ content_of(message) }}<|im_end|>{%- endfor -%}""",
    "minimax": """{% for message in messages %}{% if message.content is not string and message.content is sequence %}{% for content in message.content | selectattr('type', 'equalto', 'text') %}{{ content['text'] }}{% endfor %}{% else %}{{ message.name | default(message.role) }}={{ message.content }}{% endif %}<end_of_sentence>
{% endfor %}""",
    "plain": """{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}""",
    "llava": """{% for message in messages %}{{ message.role.upper() }}: {# images first #}{% for content in message.content | selectattr('type', 'equalto', 'image') %}<image>
{% endfor %}{% for content in message.content | rejectattr('type', 'equalto', 'image') %}{{ content.text }}{% endfor %} {% endfor %}""",
    "named blocks": """{% block head %}{{ messages | length }} messages{% endblock %}
{% filter upper %}{% for m in messages %}{{ m.role }} {% endfor %}{% endfilter %}
{%- set text %}{% for m in messages %}{{ m.content }};{% endfor %}{% endset %}
{{ text | length }} {{ self.head() }}{% with a = 1, b = messages[0].role %}{{ a }}{{ b }}{% endwith %}{% call(x) twice() %}[{{ x }}]{% endcall %}""".replace(
        "{% block", "{% macro twice() %}{{ caller(1) }}{{ caller('b') }}{% endmacro %}{% block"
    ),
    "json lines": """{%- for m in messages %}
{{ m | tojson }}
{%- endfor %}
{{ messages[0] | tojson(indent=2, sort_keys=true) }}
{{ messages | map(attribute='role') | list | tojson(separators=(',', ':')) }}{{ 'ü<' | tojson(ensure_ascii=true) }}{{ messages[-1] | pprint }}""",
}


def written(text):
    return text if text is None or len(text) <= 200 else [len(text), hashlib.sha256(text.encode()).hexdigest()[:16]]


def render(source, chat, **more):
    """Returns the text, None where transformers refuses, and the spans of answers."""
    variables = {**SPECIAL, **{name: value for name, value in chat.items() if name != "messages"}, **more}
    messages = [{key: value for key, value in m.items() if value is not None} for m in chat["messages"]]
    try:
        texts, spans = render_jinja_template([messages], chat_template=source, return_assistant_tokens_mask=True, **variables)
        return texts[0], spans[0]
    except Exception:
        return None, []


class Grammar:
    """Random templates: expressions of every kind, inside the blocks that templates have."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = ["n", "s", "xs", "d", "messages", "m", "eos_token", "missing", "tools", "flag"]

    def pick(self, *choices):
        choice = self.random.choice(choices)
        return choice() if callable(choice) else choice

    def atom(self):
        r = self.random
        return self.pick(
            lambda: str(r.choice([0, 1, 2, 3, 7, -7, 10, 255, 1000003])),
            lambda: str(r.choice([0.5, 2.25, 1e3, 1.0, 3.14159, 1e21, 0.1])),
            lambda: repr(r.choice(["", "a", "Ab c", " x ", "\n\ty\n", "日本", "😀b", "a,b,c", "<i>&'", "ß", "10", "-3.7", "%s!", "it's"])),
            lambda: r.choice(["true", "false", "none", "True", "None"]),
            lambda: r.choice(self.names),
            lambda: r.choice(["m.content", "m['role']", "m.missing", "messages[0].content", "messages[-1]", "d.b", "d['a']", "xs[1]", "d.items()", "d.keys() | list"]),
            lambda: f"[{', '.join(self.atom() for _ in range(r.randint(0, 3)))}]",
            lambda: f"({self.atom()}, {self.atom()})",
            lambda: "{" + ", ".join(f"'{key}': {self.atom()}" for key in "abc"[: r.randint(0, 3)]) + "}",
            lambda: f"range({r.randint(-2, 6)}{r.choice(['', ', 9', ', 1, -1'])})",
        )

    def string(self):
        return self.pick("s", "m.content", "m.role", "eos_token", lambda: repr(self.random.choice(["Ab c", " x y ", "a,b,,c", "日😀", "\n\nkeep\n", "abcabc", "TITLE case"])))

    def listed(self):
        return self.pick("xs", "messages", "[3, 1, 2]", "['b', 'A', 'c', 'a']", "s", "d", "range(5)", "messages | map(attribute='role')", "[[1, 2], [3]]", "[none, 1, true]")

    def filtered(self):
        r = self.random
        on_any = ["string", "length", "list", "tojson", "default('z')", "default('z', true)", "d('q')", "string | length", "pprint", "abs", "int", "float", "int(5)", "float(0.5)", "safe", "escape", "e", "forceescape", "string | urlencode", "string | wordcount", "filesizeformat", "tojson(indent=2)", "tojson(sort_keys=true)", "string | striptags"]
        on_text = ["upper", "lower", "title", "capitalize", "trim", "trim('x ')", "replace('a', 'zz')", "replace('a', '', 1)", "indent", "indent(3, true)", "indent(first=true, blank=true)", "center(9)", "truncate(5)", "truncate(3, true, '~', 0)", "wordwrap(4)", "reverse", "first", "last", "list", "join('-')", "format(1)", "urlencode", "int", "float", "batch(2) | list", "sort | join", "unique | join", "wordcount", "slice(2) | list", "length"]
        on_list = ["join", "join(', ')", "first", "last", "reverse | list", "sort", "sort(reverse=true)", "unique | list", "sum", "max", "min", "length", "count", "list", "tojson", "map('string') | list", "map('upper') | join('|')", "select | list", "reject('none') | list", "select('number') | list", "select('odd') | list", "selectattr('role', 'equalto', 'user') | list", "rejectattr('content') | list", "map(attribute='content') | join", "map(attribute='x', default='-') | list", "groupby('role') | list", "batch(2, '_') | list", "slice(2) | list", "join(attribute='role')", "sort(attribute='role') | map(attribute='role') | list", "items | list", "dictsort", "dictsort(by='value')", "random | string | length > 0", "string", "sum(start=10)", "max(attribute='role')"]
        on_number = ["round", "round(1)", "round(1, 'floor')", "round(0, 'ceil')", "abs", "int", "float", "string", "filesizeformat", "filesizeformat(true)", "tojson", "round | int"]
        return self.pick(
            lambda: f"{self.atom()} | {r.choice(on_any)}",
            lambda: f"{self.string()} | {r.choice(on_text)}",
            lambda: f"{self.listed()} | {r.choice(on_list)}",
            lambda: f"{self.pick('n', '2.345', '-7.5', '12345.678', '0', '10 / 4')} | {r.choice(on_number)}",
        )

    def method(self):
        r = self.random
        on_text = ["strip()", "strip('\\n')", "lstrip('\\n')", "rstrip(' x')", "split()", "split(',')", "split('a', 1)", "rsplit(None, 1)", "splitlines()", "splitlines(true)", "partition(',')", "upper()", "title()", "swapcase()", "casefold()", "capitalize()", "startswith('A')", "endswith(('c', 'x'))", "find('b')", "rfind('a')", "index('q')", "count('a')", "replace('a', 'b', 1)", "zfill(9)", "center(8, '*')", "ljust(6)", "rjust(6, '.')", "isdigit()", "isalpha()", "isupper()", "isspace()", "join(['x', 'y'])", "join(xs)", "format(1, a=2)", "removeprefix('a')", "removesuffix('c')", "expandtabs(2)", "encode()", "isidentifier()", "__class__", "translate({97: 'Q'})"]
        on_dict = ["get('a')", "get('q', 0)", "items() | list", "keys() | list", "values() | list", "copy()", "pop('a')", "update({'a': 1})", "a.real", "clear", "__len__()"]
        on_list = ["index(1)", "count(1)", "append(1)", "copy()", "pop()", "sort()", "insert(0, 1)", "__class__.__mro__"]
        return self.pick(
            lambda: f"{self.string()}.{r.choice(on_text)}",
            lambda: f"{self.pick('d', 'm', 'messages[0]', 'd.c')}.{r.choice(on_dict)}",
            lambda: f"{self.pick('xs', '[1, 2, 1]', 'messages')}.{r.choice(on_list)}",
            lambda: f"{self.pick('n', '7', '2.5', 'true')}.{r.choice(['real', 'bit_length()', 'hex()', 'conjugate()'])}",
        )

    def sliced(self):
        r = self.random
        part = r.choice(["[0]", "[-1]", "[1:]", "[:2]", "[::-1]", "[1:-1]", "[::2]", "[5]", "[-9:]", "[3:1]", "['a']", "['q']", "[n]", "[true]", "[:2][0]"])
        return f"{self.pick('s', 'xs', 'd', 'messages', 'm.content', '(1, 2, 3)', 'range(9)')}{part}"

    def tested(self):
        r = self.random
        test = r.choice(["defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable", "sequence", "true", "false", "odd", "even", "callable", "divisibleby 3", "divisibleby(2)", "eq(1)", "equalto 'a'", "ne 2", "gt 1", "ge(1.0)", "lt 5", "le 1", "in [1, 'a', none]", "sameas true", "sameas(none)", "lower", "upper", "escaped", "filter", "test", "lessthan 3"])
        return f"{self.atom()} is {r.choice(['', 'not '])}{test}"

    def arithmetic(self, depth):
        r = self.random
        operator = r.choice(["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">", "<=", ">=", "and", "or", "in", "not in"])
        left = self.pick(self.atom, lambda: self.expression(depth - 1))
        right = self.pick(lambda: str(r.randint(-3, 5)), self.atom, lambda: self.expression(depth - 1))
        return f"({left} {operator} {right if operator != '**' else r.choice(['2', '-1', '0', '0.5', '3'])})"

    def expression(self, depth=2):
        if depth <= 0:
            return self.atom()
        return self.pick(
            self.atom,
            self.filtered,
            self.filtered,
            self.method,
            self.sliced,
            self.tested,
            lambda: self.arithmetic(depth),
            lambda: self.arithmetic(depth),
            lambda: f"(not {self.expression(depth - 1)})",
            lambda: f"({self.expression(depth - 1)} if {self.tested()}{self.pick('', lambda: f' else {self.expression(depth - 1)}')})",
            lambda: f"({self.expression(depth - 1)}) | {self.pick('string', 'tojson', 'list', 'length', 'upper', 'int')}",
            lambda: f"({self.atom()} {self.pick('<', '==', '!=', '>=')} {self.atom()} {self.pick('<', '<=', '==')} {self.atom()})",
        )

    def block(self, depth=2):
        r = self.random
        dash = lambda: r.choice(["", "", "-", "+"])
        end = lambda: r.choice(["", "", "-"])
        tag = lambda text: "{%" + dash() + " " + text + " " + end() + "%}"
        body = lambda: self.block(depth - 1) if depth > 0 else self.printed()
        space = lambda: r.choice(["", "", " ", "\n", "\n  ", "  \n\n", "\t"])
        return self.pick(
            self.printed,
            self.printed,
            lambda: self.printed() + space() + self.printed(),
            lambda: space() + tag(f"if {self.expression(1)}") + space() + body() + space() + tag("else") + space() + body() + tag("endif") + space(),
            lambda: space() + tag(f"for x in {self.listed()}{self.pick('', ' if x', ' if loop is defined')}") + space() + "{{ loop.index }}{{ x }}" + r.choice(["", "{{ ',' if not loop.last }}", "{{ loop.cycle('a', 'b') }}", "{{ loop.changed(x) }}", "{{ loop.previtem }}", "{{ loop.nextitem is defined }}", "{% if loop.index > 2 %}{% break %}{% endif %}", "{% continue %}"]) + space() + tag("endfor") + space(),
            lambda: space() + tag(f"set v = {self.expression(1)}") + space() + "{{ v }}" + body(),
            lambda: tag("set ns = namespace(a=" + self.atom() + ")") + tag("for i in range(3)") + tag("set ns.a = " + self.pick("i", "ns.a ~ i", "ns.a + 1", self.atom)) + tag("endfor") + "{{ ns.a }}",
            lambda: tag(f"macro f(a, b={self.atom()})") + space() + "{{ a }}-{{ b }}" + r.choice(["", "{{ varargs }}", "{{ kwargs }}"]) + space() + tag("endmacro") + "{{ f(" + r.choice(["1", "n", "s, 2", "b=1", "1, 2, 3", "1, c=3", "", "d"]) + ") }}",
            lambda: tag("set block") + space() + body() + tag("endset") + "{{ block | length }}{{ block }}",
            lambda: tag("filter " + r.choice(["upper", "trim", "replace('a', 'b')", "indent"])) + body() + tag("endfilter"),
            lambda: "a" + space() + "{#" + r.choice(["", "-"]) + " note {% if %} " + r.choice(["", "-"]) + "#}" + space() + self.printed(),
            lambda: tag("generation") + body() + tag("endgeneration") + self.printed(),
            lambda: "{% raw %}{{ x }}{% endraw %}" + body(),
            lambda: tag(f"with a = {self.expression(1)}, b = 2") + "{{ a }}{{ b }}" + tag("endwith") + "{{ a }}",
            lambda: tag("for k, v in d.items()" + r.choice(["", " if v", " | list"])) + "{{ k }}={{ v }};" + tag("endfor") + tag("for x in []") + "no" + tag("else") + "none" + tag("endfor"),
        )

    def printed(self):
        dash = self.random.choice(["", "", "", "-"])
        return "{{" + dash + " " + self.expression() + " " + self.random.choice(["", "", "", "-"]) + "}}"


def random_variables(seed):
    r = random.Random(seed)
    m = {"role": r.choice(["user", "assistant", "tool"]), "content": r.choice(["Ab c", " a,b\n", "😀 ok", "", "x" * 20, "1 2\n\n3", "{{ x }}", "Ünï <b>"])}
    return {
        "messages": [{"role": "user", "content": r.choice(["hi", "a b", "日本"])}, m],
        "m": m,
        "n": r.choice([0, 1, -3, 5, 2.5, 1000000, 9007199254740993]),
        "s": r.choice(["", "abc", "a,b", " pad ", "😀é", "Zz\nTop"]),
        "xs": r.choice([[], [1, 2, 3], ["b", "a"], [0.5, 1], [None, True], [[1], [2, 3]], [{"role": "x"}]]),
        "d": r.choice([{}, {"a": 1}, {"b": "x", "a": None}, {"a": [1, 2], "b": True, "c": {"a": 0.5}}, {"c": {}, "a": "t"}]),
        "flag": r.random() < 0.5,
    }


def check_copies():
    for library in (jinja2, markupsafe):
        installed = pathlib.Path(library.__file__).parent
        for copy in (PYTHON / library.__name__).glob("*.py"):
            assert copy.read_bytes() == (installed / copy.name).read_bytes(), copy


def main():
    chats = [
        [list(TEMPLATES).index(name), list(CHATS).index(chat), prompt, written(text), spans]
        for at, (name, source) in enumerate(TEMPLATES.items())
        for index, chat in enumerate(CHATS)
        for prompt in [(at + index) % 2 == 0]
        for text, spans in [render(source, CHATS[chat], add_generation_prompt=prompt)]
    ]
    check_copies()
    count, seed = (int(text) for text in [*sys.argv[2:], "1000", "42"][:2])
    variables = [random_variables(seed) for seed in range(40)]
    expressions = []
    grammar = Grammar(seed)
    refused = 0
    while len(expressions) < count:
        source, at = grammar.block(), grammar.random.randrange(len(variables))
        text, _ = render(source, variables[at])
        # Every third random template would be refused, which shows less.
        if text is None and refused > count / 5:
            continue
        refused += text is None
        if text is not None and (" object at 0x" in text or "random" in source):
            continue
        expressions.append([source, at, written(text)])
    target = pathlib.Path(sys.argv[1])
    lines = lambda rows: "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
    target.write_text(
        "{"
        + ",\n".join(
            f'"{name}": {lines(rows)}'
            for name, rows in {
                "templates": [[name, source] for name, source in TEMPLATES.items()],
                "chats": [[name, chat] for name, chat in CHATS.items()],
                "rendered": chats,
                "variables": variables,
                "expressions": expressions,
            }.items()
        )
        + "}\n"
    )
    print(len(TEMPLATES), "templates,", sum(c[3] is None for c in chats), "of", len(chats), "chats refused;", refused, "of", count, "random templates refused;", target.stat().st_size, "bytes")


main()
