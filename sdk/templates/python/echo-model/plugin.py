"""A model that repeats the question."""

from collections.abc import Iterator

from mindhost import Event, Model, PluginError, Request


class Plugin(Model):
    """`self.config` is what the provider is configured with; manifest.json has its schema."""

    def complete(self, request: Request) -> Iterator[Event | None]:
        """A vendor is asked here, with `http` of the SDK. Yield each piece as soon as it is there."""
        texts = [message.text() for message in request.messages if message.role == "user"]
        if not texts or not texts[-1]:
            raise PluginError("unsupported", "this model only reads text")
        yield {"text": self.config["greeting"]}
        yield {"text": f": {texts[-1]}"}
        yield {"stop": "end"}

    def check(self) -> str:
        return "ready to repeat"

    def models(self) -> list[str]:
        return ["echo"]
