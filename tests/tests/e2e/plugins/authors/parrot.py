from typing import Any

from parrot_words import WORDS

from mindhost import Model, PluginError

try:
    import componentize_py  # noqa: F401

    raise RuntimeError("a package of another environment is here")
except ImportError:
    pass


class Plugin(Model):
    def complete(self, request: Any) -> Any:
        question = request.messages[-1].text()
        if question == "late":
            import email.mime.text  # noqa: F401
        if question == "refuse":
            raise PluginError("upstream", "half \ud83d")
        yield {"text": f"{WORDS} \ud83d"}
        yield {"text": "\ude00 half \ud83d!"}
        yield {"stop": "end"}

    def check(self) -> str:
        return "well"
