#include "sandbox/filter/proxy/authority.hpp"

#include "sandbox/base/random.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <set>
#include <stdexcept>

namespace berth::filter {
namespace {

constexpr long hour = 3600;
constexpr long day = 24 * hour;
/// Longer than any machine lives.
constexpr long authority_life = 3650 * day;
/// Longer than any connection begins.
constexpr long server_life = 7 * day;

void require(bool done, const char* what)
{
    if (!done) {
        throw std::runtime_error(std::string("cannot ") + what);
    }
}

Key make_key()
{
    Key key(::EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
    require(key != nullptr, "make a key");
    return key;
}

void set_name(X509_NAME* name, const char* field, const std::string& text)
{
    require(::X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC,
                                         reinterpret_cast<const unsigned char*>(text.c_str()), -1,
                                         -1, 0) == 1,
            "name a certificate");
}

void set_serial(X509* certificate)
{
    // Of 127 bits, as RFC 5280 (4.1.2.2) has it: positive, and no other's.
    constexpr std::size_t bytes = 16;
    auto digits = random_hex(bytes);
    digits.front() = '1';
    BIGNUM* number = nullptr;
    const bool read = ::BN_hex2bn(&number, digits.c_str()) != 0;
    const bool set =
        read && ::BN_to_ASN1_INTEGER(number, ::X509_get_serialNumber(certificate)) != nullptr;
    ::BN_free(number);
    require(set, "number a certificate");
}

/// Without names and extensions.
Certificate begin_certificate(EVP_PKEY* key, long life)
{
    Certificate certificate(::X509_new());
    require(certificate && ::X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                ::X509_set_pubkey(certificate.get(), key) == 1 &&
                // An hour ago, for a clock that is set back a little meanwhile.
                ::X509_gmtime_adj(::X509_getm_notBefore(certificate.get()), -hour) != nullptr &&
                ::X509_gmtime_adj(::X509_getm_notAfter(certificate.get()), life) != nullptr,
            "make a certificate");
    set_serial(certificate.get());
    return certificate;
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value)
{
    X509V3_CTX context{};
    ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    const bool added = extension != nullptr && ::X509_add_ext(certificate, extension, -1) == 1;
    ::X509_EXTENSION_free(extension);
    require(added, "extend a certificate");
}

void sign(X509* certificate, EVP_PKEY* key)
{
    require(::X509_sign(certificate, key, ::EVP_sha256()) > 0, "sign a certificate");
}

/// What is not named of a kind is not certified; so of a kind of which nothing is, something is
/// named that nobody is.
std::string constraints(const std::vector<Target>& servers)
{
    std::string text = "critical,permitted;DNS:nobody.invalid";
    bool has_v4 = false;
    bool has_v6 = false;
    std::set<std::string> named;
    for (const auto& server : servers) {
        if (!named.insert(server.name).second) {
            continue; // of another port
        }
        if (!server.address) {
            text += ",permitted;DNS:" + server.name;
        } else if (server.address->is_v4()) {
            text += ",permitted;IP:" + server.name + "/255.255.255.255";
            has_v4 = true;
        } else {
            text += ",permitted;IP:" + server.name + "/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
            has_v6 = true;
        }
    }
    if (!has_v4 && !has_v6) {
        text += ",permitted;IP:0.0.0.0/255.255.255.255";
    }
    return text;
}

std::string to_pem(X509* certificate)
{
    const std::unique_ptr<BIO, decltype(&::BIO_free)> memory(::BIO_new(::BIO_s_mem()), &::BIO_free);
    require(memory && ::PEM_write_bio_X509(memory.get(), certificate) == 1, "write a certificate");
    std::string text(::BIO_ctrl_pending(memory.get()), '\0');
    require(::BIO_read(memory.get(), text.data(), static_cast<int>(text.size())) ==
                static_cast<int>(text.size()),
            "read a certificate");
    return text;
}

} // namespace

void FreeKey::operator()(EVP_PKEY* key) const noexcept
{
    ::EVP_PKEY_free(key);
}

void FreeCertificate::operator()(X509* certificate) const noexcept
{
    ::X509_free(certificate);
}

Authority::Authority(const std::vector<Target>& servers)
    : key_(make_key()), server_key_(make_key()),
      certificate_(begin_certificate(key_.get(), authority_life))
{
    X509* const own = certificate_.get();
    set_name(::X509_get_subject_name(own), "O", "berth");
    set_name(::X509_get_subject_name(own), "CN", "proxy of session " + random_hex(4));
    require(::X509_set_issuer_name(own, ::X509_get_subject_name(own)) == 1, "name an issuer");
    extend(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    extend(own, own, NID_key_usage, "critical,keyCertSign");
    extend(own, own, NID_subject_key_identifier, "hash");
    extend(own, own, NID_name_constraints, constraints(servers));
    sign(own, key_.get());
    pem_ = to_pem(own);
}

Certificate Authority::certify(const Target& server) const
{
    auto certificate = begin_certificate(server_key_.get(), server_life);
    X509* const fresh = certificate.get();
    X509* const issuer = certificate_.get();
    set_name(::X509_get_subject_name(fresh), "O", "berth");
    require(::X509_set_issuer_name(fresh, ::X509_get_subject_name(issuer)) == 1, "name an issuer");
    extend(fresh, issuer, NID_basic_constraints, "critical,CA:FALSE");
    extend(fresh, issuer, NID_key_usage, "critical,digitalSignature");
    extend(fresh, issuer, NID_ext_key_usage, "serverAuth");
    extend(fresh, issuer, NID_authority_key_identifier, "keyid:always");
    extend(fresh, issuer, NID_subject_alt_name, (server.address ? "IP:" : "DNS:") + server.name);
    sign(fresh, key_.get());
    return certificate;
}

} // namespace berth::filter
