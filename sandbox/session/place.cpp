#include "sandbox/session/place.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/shell_word.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/session/registry.hpp"

#include <array>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

namespace berth::session {
namespace {

constexpr std::size_t id_size = 32;

std::string host_name()
{
    std::array<char, HOST_NAME_MAX + 1> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// Containers of one image may share it, which is why it is not enough.
std::string machine_number()
{
    try {
        return read_file_limited(AT_FDCWD, "/etc/machine-id", 4096);
    } catch (const std::exception&) {
        return {};
    }
}

Error refusal(const Record& record, const std::string& where, const std::string& remedy)
{
    const auto& name = record.id.session;
    const auto& place = *record.place;
    return {ErrorCode::sandbox_unavailable,
            "the sandbox of session '" + name + "' and its files are " + where,
            remedy +
                " Or use another session. Where nothing of it is wanted any more: `berth "
                "sessions kill " +
                shell_word(name) +
                " --purge` there; if there is no such place any more, the same anywhere with "
                "this --registry and BERTH_SESSION_HOST=" +
                shell_word(place.host) + " BERTH_STATE_DIR=" + shell_word(place.state_directory)};
}

/// The books name its path, by which it is known: one that was moved has to be there again. A link
/// will not do, which this_place() follows.
std::string how_to_come_to(const std::string& state_directory)
{
    const auto word = shell_word(state_directory);
    std::error_code unknown;
    const bool is_there = std::filesystem::exists(state_directory, unknown) || unknown;
    return (is_there ? std::string()
                     : "That is not there: if it was moved, move it back, or `mkdir -p " + word +
                           "` and `mount --bind NEW " + word + "`. ") +
           "Start the server with --state-dir " + word + '.';
}

} // namespace

Place this_place(const std::string& name, const std::string& state_directory)
{
    Place place;
    place.host = name.empty() ? host_name() : name;
    if (name.empty()) {
        place.host_id =
            sha256_hex("berth host 1\n" + machine_number() + place.host).substr(0, id_size);
    }
    std::error_code unknown;
    const auto real = std::filesystem::weakly_canonical(state_directory, unknown);
    place.state_directory = unknown ? state_directory : real.string();
    return place;
}

bool is_elsewhere(const std::optional<Place>& own, const Record& record)
{
    if (!own || !record.place) {
        return false;
    }
    const bool by_name = own->host_id.empty() || record.place->host_id.empty();
    return by_name ? own->host != record.place->host : own->host_id != record.place->host_id;
}

void require_host(const std::optional<Place>& own, const Record& record)
{
    if (is_elsewhere(own, record)) {
        throw refusal(record, "on the host " + visible(record.place->host),
                      "Call a berth server on that host.");
    }
}

void require_place(const std::optional<Place>& own, const Record& record)
{
    require_host(own, record);
    if (own && record.place && own->state_directory != record.place->state_directory) {
        throw refusal(record,
                      "in the state directory " + visible(record.place->state_directory) +
                          " of this host, not in that of this server",
                      how_to_come_to(record.place->state_directory));
    }
}

} // namespace berth::session
