#include "sandbox/local/trust_files.hpp"

#include "sandbox/base/base64.hpp"
#include "sandbox/base/error.hpp"
#include "sandbox/base/io.hpp"
#include "sandbox/base/visible.hpp"
#include "sandbox/command_environment.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>

#include <fcntl.h>
#include <sys/stat.h>

namespace berth::local {
namespace {

/// Debian's has 220 KB.
constexpr std::size_t longest_bundle = 8UL * 1024 * 1024;

void append_number(std::string& bytes, std::uint64_t number, unsigned size)
{
    for (unsigned left = size; left > 0; --left) {
        bytes += static_cast<char>(number >> ((left - 1) * 8) & 0xFFU);
    }
}

void append_text(std::string& bytes, std::string_view text)
{
    append_number(bytes, text.size(), 2);
    bytes += text;
}

/// What stands between the marks, in DER.
std::vector<std::string> certificates_of(std::string_view pem)
{
    constexpr std::string_view begin = "-----BEGIN CERTIFICATE-----";
    constexpr std::string_view end = "-----END CERTIFICATE-----";
    std::vector<std::string> found;
    for (auto at = pem.find(begin); at != std::string_view::npos; at = pem.find(begin, at)) {
        at += begin.size();
        const auto stop = pem.find(end, at);
        if (stop == std::string_view::npos) {
            break;
        }
        if (auto bytes = base64_decode(pem.substr(at, stop - at)); bytes && !bytes->empty()) {
            found.push_back(std::move(*bytes));
        }
    }
    return found;
}

/// A file of an operator's may have a key beside them, which is none of the sandbox's.
std::string certificates_alone(std::string_view pem)
{
    constexpr std::size_t line = 64; // RFC 7468
    std::string text;
    for (const auto& certificate : certificates_of(pem)) {
        const auto digits = base64_encode(certificate);
        text += "-----BEGIN CERTIFICATE-----\n";
        for (std::size_t at = 0; at < digits.size(); at += line) {
            text += digits.substr(at, line) + '\n';
        }
        text += "-----END CERTIFICATE-----\n";
    }
    return text;
}

bool is_file(const std::string& path)
{
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

} // namespace

HostBundle find_host_bundle(const std::string& given)
{
    // As OpenSSL, curl and Go are built for Debian, Fedora, Alpine and openSUSE.
    constexpr std::array usual{"/etc/ssl/certs/ca-certificates.crt",
                               "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
                               "/etc/ssl/ca-bundle.pem"};
    HostBundle found;
    for (const std::string path : usual) {
        try {
            found.content = read_file_limited(AT_FDCWD, path, longest_bundle);
            found.usual_path = is_file(path) ? path : "";
            break;
        } catch (const std::exception&) {
            continue;
        }
    }
    if (given.empty()) {
        return found;
    }
    try {
        found.content = read_file_limited(AT_FDCWD, given, longest_bundle);
    } catch (const std::exception& error) {
        throw Error(ErrorCode::sandbox_unavailable,
                    "the file of SSL_CERT_FILE, " + visible(given) +
                        ", cannot be read: " + error.what(),
                    "Name a file of certificates in PEM, or unset that variable of the server.");
    }
    return found;
}

std::vector<std::pair<std::string, std::string>> trust_files(const std::string& authority,
                                                             const std::string& given)
{
    if (authority.empty()) {
        return {};
    }
    const auto host = find_host_bundle(given);
    const auto all = certificates_alone(host.content) + authority;
    return {{sandbox::own_authority_file, authority},
            {sandbox::all_authorities_file, all},
            {sandbox::java_authorities_file, java_trust_store(all)}};
}

/// As KeyStore.getInstance("JKS") reads it: sun.security.provider.JavaKeyStore, which is its only
/// description. The digest at its end is of a password, and read by who gives one.
std::string java_trust_store(std::string_view pem)
{
    constexpr std::uint64_t magic = 0xFEEDFEED;
    constexpr unsigned version = 2;
    constexpr unsigned trusted_certificate = 2;
    constexpr std::size_t digest_size = 20;
    const auto certificates = certificates_of(pem);
    std::string bytes;
    append_number(bytes, magic, 4);
    append_number(bytes, version, 4);
    append_number(bytes, certificates.size(), 4);
    std::size_t number = 0;
    for (const auto& certificate : certificates) {
        append_number(bytes, trusted_certificate, 4);
        append_text(bytes, std::to_string(++number));
        append_number(bytes, 0, 8); // when it was put in
        append_text(bytes, "X.509");
        append_number(bytes, certificate.size(), 4);
        bytes += certificate;
    }
    return bytes + std::string(digest_size, '\0');
}

} // namespace berth::local
