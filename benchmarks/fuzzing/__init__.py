"""What the fuzzer is made of: inputs, mutations and stand-ins."""
