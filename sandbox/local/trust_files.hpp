#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::local {

/// The file in which this host has the authorities that its programs trust.
struct HostBundle {
    std::string content; ///< PEM; empty: none was found
    /// Where programs of the host look for theirs without being told, where it is a file and no
    /// link; else empty.
    std::string usual_path;
};

/// `given`: that of the operator instead (SSL_CERT_FILE); empty: what the host has. Throws
/// Error(sandbox_unavailable) where the given one cannot be read.
[[nodiscard]] HostBundle find_host_bundle(const std::string& given);

/// What a sandbox is shown at inner_certificates, by name: the authorities of find_host_bundle()
/// and the session's own, whose certificate is `authority`, in each form that clients look for.
/// Nothing where that is empty. Throws as that does.
[[nodiscard]] std::vector<std::pair<std::string, std::string>>
trust_files(const std::string& authority, const std::string& given);

/// The certificates of a text in PEM as a key store of Java's, of the kind JKS, without a password.
[[nodiscard]] std::string java_trust_store(std::string_view pem);

} // namespace berth::local
