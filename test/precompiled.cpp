// The precompiled header needs a source.
