#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
// The first implies the second in a part of doctest.h that is not read again where it is
// precompiled.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
