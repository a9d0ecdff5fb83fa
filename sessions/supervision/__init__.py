"""People in a session: take over, speak, whisper, hand back; their work and skills."""
