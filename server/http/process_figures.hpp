#pragma once

#include "server/http/metric_text.hpp"

#include <chrono>

namespace berth::server::http {

/// Memory, descriptors and processor time of this process, by the names that Prometheus'
/// own clients give them. What the kernel does not tell is left out.
void write_process_figures(MetricText& text, std::chrono::system_clock::time_point started);

} // namespace berth::server::http
