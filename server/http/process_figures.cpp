#include "server/http/process_figures.hpp"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace berth::server::http {
namespace {

double processor_seconds()
{
    timespec time{};
    return ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0
               ? static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9
               : 0;
}

std::uint64_t resident_bytes()
{
    std::ifstream file("/proc/self/statm");
    std::uint64_t all = 0;
    std::uint64_t resident = 0;
    file >> all >> resident;
    return file ? resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::uint64_t open_descriptors()
{
    std::error_code error;
    const std::filesystem::directory_iterator entries("/proc/self/fd", error);
    return error ? 0 : static_cast<std::uint64_t>(std::distance(begin(entries), end(entries)));
}

} // namespace

void write_process_figures(MetricText& text, std::chrono::system_clock::time_point started)
{
    text.gauge("process_start_time_seconds", "When the server began, since 1970.",
               std::chrono::duration<double>(started.time_since_epoch()).count());
    text.family("process_cpu_seconds_total", "counter", "Processor time of the server alone.");
    text.sample("process_cpu_seconds_total", {}, processor_seconds());
    if (const auto bytes = resident_bytes(); bytes > 0) {
        text.gauge("process_resident_memory_bytes", "Memory of the server alone.", bytes);
    }
    if (const auto count = open_descriptors(); count > 0) {
        text.gauge("process_open_fds", "Descriptors.", count);
    }
}

} // namespace berth::server::http
