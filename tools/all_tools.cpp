#include "tools/tool.hpp"
