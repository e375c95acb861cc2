#include "sandbox/filter/proxy/interception.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <stdexcept>

namespace berth::filter {
namespace {

constexpr std::array<unsigned char, 9> http1{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

void require(bool done, const char* what)
{
    if (!done) {
        throw std::runtime_error(std::string("cannot ") + what);
    }
}

/// Who speaks only HTTP/2 hears so at once (RFC 7301, 3.2).
int choose_protocol(SSL* /*tls*/, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void* /*data*/)
{
    unsigned char* found = nullptr;
    if (::SSL_select_next_proto(&found, size, http1.data(), http1.size(), offered, offered_size) !=
        OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

/// Nothing is kept between connections: a session that is resumed would not be certified again.
void set_up(SSL_CTX* context)
{
    require(context != nullptr && ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1,
            "set up TLS");
    (void)::SSL_CTX_set_options(context,
                                SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    (void)::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)::SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                          SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                          SSL_MODE_RELEASE_BUFFERS);
}

/// SSL_set_tlsext_host_name(), which is a macro with a cast of C's.
bool set_server_name(SSL* tls, std::string name)
{
    return ::SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) ==
           1;
}

} // namespace

void FreeContext::operator()(SSL_CTX* context) const noexcept
{
    ::SSL_CTX_free(context);
}

Interception::Interception(const std::vector<Target>& servers, const std::string& certificates)
    : authority_(servers), server_(::SSL_CTX_new(::TLS_server_method())),
      client_(::SSL_CTX_new(::TLS_client_method()))
{
    set_up(server_.get());
    (void)::SSL_CTX_set_num_tickets(server_.get(), 0);
    ::SSL_CTX_set_alpn_select_cb(server_.get(), &choose_protocol, nullptr);
    set_up(client_.get());
    ::SSL_CTX_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
    require(certificates.empty()
                ? ::SSL_CTX_set_default_verify_paths(client_.get()) == 1
                : ::SSL_CTX_load_verify_file(client_.get(), certificates.c_str()) == 1,
            "read the certificates of SSL_CERT_FILE");
    require(::SSL_CTX_set_alpn_protos(client_.get(), http1.data(), http1.size()) == 0,
            "set up TLS");
}

Tls Interception::as_server(const Target& server) const
{
    Tls tls(::SSL_new(server_.get()));
    const auto certificate = authority_.certify(server);
    require(tls && ::SSL_use_certificate(tls.get(), certificate.get()) == 1 &&
                ::SSL_use_PrivateKey(tls.get(), authority_.server_key()) == 1,
            "certify a server");
    ::SSL_set_accept_state(tls.get());
    return tls;
}

Tls Interception::as_client(const Target& server) const
{
    Tls tls(::SSL_new(client_.get()));
    require(tls != nullptr, "set up TLS");
    auto* const wanted = ::SSL_get0_param(tls.get());
    ::X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                                  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const bool named =
        server.address
            ? ::X509_VERIFY_PARAM_set1_ip_asc(wanted, server.name.c_str()) == 1
            : ::X509_VERIFY_PARAM_set1_host(wanted, server.name.c_str(), server.name.size()) == 1 &&
                  set_server_name(tls.get(), server.name);
    require(named, "name the server to TLS");
    ::SSL_set_connect_state(tls.get());
    return tls;
}

} // namespace berth::filter
