#include "sandbox/session/installation.hpp"

#include "sandbox/base/io.hpp"
#include "sandbox/base/random.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/session/place.hpp"
#include "sandbox/session/settings.hpp"
#include "sandbox/state_directory.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>

#include <fcntl.h>
#include <unistd.h>

namespace berth::session {
namespace {

constexpr const char* file_name = "installation";
constexpr std::size_t size = 32;

std::string read_id(int folder)
{
    try {
        auto id = read_file_limited(folder, file_name, size);
        const bool whole =
            id.size() == size && id.find_first_not_of("0123456789abcdef") == std::string::npos;
        return whole ? id : std::string();
    } catch (const std::exception&) {
        return {};
    }
}

/// Never in place of another: of two servers that come at once the second takes the first one's.
void make_id(int folder)
{
    const auto own = std::string(file_name) + '.' + random_hex(8);
    write_file_atomically(folder, own, random_hex(size / 2), 0600, /*sync=*/true);
    (void)!::linkat(folder, own.c_str(), folder, file_name, 0);
    (void)::unlinkat(folder, own.c_str(), 0);
}

} // namespace

std::string installation_id(const Settings& settings, bool make)
{
    std::string id;
    try {
        const auto folder = make ? sandbox::open_state_directory(settings.state_directory)
                                 : sandbox::find_state_directory(settings.state_directory);
        if (!folder) {
            return {};
        }
        id = read_id(folder.get());
        if (id.empty() && make) {
            make_id(folder.get());
            id = read_id(folder.get());
        }
    } catch (const std::exception&) {
        return {}; // whoever makes a machine finds out what is wrong there
    }
    // Else a copy of the state directory, on the next laptop or of a virtual machine, would judge
    // by its own books what the original has made since.
    const auto place = settings.place ? *settings.place : this_place({}, settings.state_directory);
    const auto books = settings.redis ? settings.redis->shown() : "files";
    return id.empty() ? id
                      : sha256_hex("berth books 2\n" + id + '\n' + place.host_id + '\n' +
                                   place.host + '\n' + books)
                            .substr(0, size);
}

} // namespace berth::session
