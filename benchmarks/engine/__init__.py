"""What the engine costs by itself: no server, no network, no clock but the stopwatch."""
