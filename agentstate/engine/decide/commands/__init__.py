"""The commands: those of people say what they want, those of the runtime what happened. A file for each concept."""
