#pragma once

#include <array>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace berth::local {

/// A folder of a session's folder.
struct Part {
    const char* name;
    mode_t mode; ///< once it is the session's
};

inline constexpr Part home_part{"home", 0700};
inline constexpr std::array temporary_parts{Part{"tmp", 01777}, Part{"var-tmp", 01777},
                                            Part{"run", 0755}};
/// What commands' outputs are kept in (GuestConfig::spill_directory). The guest makes what is
/// missing of it too, but while somebody waits.
inline constexpr Part outputs_part{"berth", 0700};
inline constexpr const char* outputs_parent = "var-tmp";
inline constexpr const char* machine_id_name = "machine-id";

/// In the open directory `folder`, where nothing is called so; for nobody but berth. Throws
/// std::system_error.
void make_part(int folder, const Part& part);

/// Makes it the session's. Throws std::system_error.
void give_part(int folder, const Part& part, uid_t uid, gid_t gid);

/// A new file that is read inside, whatever the server's umask. Throws std::system_error.
void write_readable(int folder, const char* name, std::string_view content);

/// machine-id(5): of 32 hexadecimal digits, and no other machine's. Throws std::system_error.
void make_machine_id(int folder);

/// The outputs' folder in `folder`'s outputs_parent, which may be the session's by now. Throws
/// std::system_error.
void make_outputs(int folder);
void give_outputs(int folder, uid_t uid, gid_t gid);

} // namespace berth::local
