"""A model that repeats the question."""

from mindhost import Model, PluginError


class Plugin(Model):
    """`self.config` is what the provider is configured with; manifest.json has its schema."""

    def complete(self, request):
        """A vendor is asked here, with `http` of the SDK. Yield each piece as soon as it is there."""
        texts = [
            part.value
            for message in request.messages
            if message.role.name == "USER"
            for part in message.parts
            if type(part).__name__ == "Part_Text"
        ]
        if not texts:
            raise PluginError("unsupported", "this model only reads text")
        yield {"text": self.config["greeting"]}
        yield {"text": f": {texts[-1]}"}
        yield {"stop": "end"}

    def check(self):
        return "ready to repeat"

    def models(self):
        return ["echo"]
