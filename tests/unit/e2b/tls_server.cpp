#include "tests/unit/e2b/tls_server.hpp"

#include <httplib.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stdexcept>

namespace berth::tests {
namespace {

template <class Type, void (*Free)(Type*)>
struct Freed {
    void operator()(Type* object) const noexcept { Free(object); }
};

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;

void require(bool holds)
{
    if (!holds) {
        throw std::runtime_error("no certificate for the server of a test");
    }
}

void add_extension(X509* certificate, int kind, const std::string& value)
{
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

Certificate make_certificate(EVP_PKEY* key, const std::string& name)
{
    Certificate certificate(X509_new());
    auto* const made = certificate.get();
    const bool number = name.find_first_not_of("0123456789.") == std::string::npos;
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    const std::string common = "a server of a test";
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(made));
    add_extension(made, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(made, NID_subject_alt_name, (number ? "IP:" : "DNS:") + name);
    require(X509_sign(made, key, EVP_sha256()) > 0);
    return certificate;
}

} // namespace

struct TlsServer::Library {
    Library(const std::string& certificate, const std::string& key)
        : server(certificate.c_str(), key.c_str())
    {
    }

    httplib::SSLServer server;
    std::mutex mutex;
    std::condition_variable changed;
    Headers headers;     ///< guarded, as what follows
    bool ending = false; ///< what is silent may go
};

TlsServer::TlsServer(const std::string& name)
{
    // As EVP_EC_gen(), whose macro casts the name.
    const Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
    require(key != nullptr);
    const auto made = make_certificate(key.get(), name);
    const std::string key_file = directory_ / "key.pem";
    for (const auto& path : {certificate(), key_file}) {
        std::FILE* file = std::fopen(path.c_str(), "we");
        require(file != nullptr);
        const bool written =
            path == key_file
                ? PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1
                : PEM_write_X509(file, made.get()) == 1;
        require(std::fclose(file) == 0 && written);
    }
    library_ = std::make_unique<Library>(certificate(), key_file);
    library_->server.Get(".*", [this](const httplib::Request& request, httplib::Response& answer) {
        std::unique_lock lock(library_->mutex);
        if (request.path == "/silent") {
            library_->changed.wait(lock, [&] { return library_->ending; });
        }
        library_->headers = {request.headers.begin(), request.headers.end()};
        answer.set_content("secret", "text/plain");
    });
    port_ = library_->server.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { library_->server.listen_after_bind(); });
    while (!library_->server.is_running()) {
        std::this_thread::yield();
    }
}

TlsServer::~TlsServer()
{
    {
        const std::scoped_lock lock(library_->mutex);
        library_->ending = true;
        library_->changed.notify_all();
    }
    library_->server.stop();
    thread_.join();
}

e2b::Endpoint TlsServer::endpoint(const std::string& host) const
{
    return {.host = host, .port = static_cast<std::uint16_t>(port_), .prefix = {}};
}

std::string TlsServer::certificate() const
{
    return directory_ / "certificate.pem";
}

TlsServer::Headers TlsServer::headers() const
{
    const std::scoped_lock lock(library_->mutex);
    return library_->headers;
}

} // namespace berth::tests
