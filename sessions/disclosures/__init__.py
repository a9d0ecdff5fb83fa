"""Parts of a session shown to somebody outside, with proof."""
