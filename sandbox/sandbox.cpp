#include "sandbox/sandbox.hpp"
