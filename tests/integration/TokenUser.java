// SPDX-License-Identifier: Apache-2.0
//
// Uses a key of a token through SunPKCS11, for pkcs11_java.sh.
//
//   java TokenUser.java CONFIGURATION list
//   java TokenUser.java CONFIGURATION sign KEY ALGORITHM INPUT OUTPUT
//   java TokenUser.java CONFIGURATION decrypt KEY TRANSFORMATION INPUT OUTPUT
//   java TokenUser.java CONFIGURATION tokens KEY THREADS EACH
//       writes JSON web tokens (RFC 7519), signed as RS256 and PS256 in turn
//   java TokenUser.java CONFIGURATION serve CONNECTIONS
//       answers so many TLS connections, on a port that it prints
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.Security;
import java.security.Signature;
import java.security.spec.MGF1ParameterSpec;
import java.security.spec.PSSParameterSpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.crypto.Cipher;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;

public final class TokenUser {
    private final Provider provider;
    private final KeyStore store;

    private TokenUser(String configuration) throws Exception {
        provider = Security.getProvider("SunPKCS11").configure(configuration);
        Security.addProvider(provider);
        store = KeyStore.getInstance("PKCS11", provider);
        store.load(null, null);
    }

    private PrivateKey key(String alias) throws Exception {
        PrivateKey key = (PrivateKey) store.getKey(alias, null);
        if (key == null) {
            throw new IllegalArgumentException("no key " + alias);
        }
        return key;
    }

    private Signature signature(String algorithm) throws Exception {
        if (!algorithm.equals("PS256")) {
            return Signature.getInstance(algorithm, provider);
        }
        Signature signature = Signature.getInstance("RSASSA-PSS", provider);
        signature.setParameter(new PSSParameterSpec(
            "SHA-256", "MGF1", MGF1ParameterSpec.SHA256, 32, 1));
        return signature;
    }

    private byte[] sign(String alias, String algorithm, byte[] message)
        throws Exception {
        Signature signature = signature(algorithm);
        signature.initSign(key(alias));
        signature.update(message);
        return signature.sign();
    }

    private void list() throws Exception {
        for (String alias : Collections.list(store.aliases())) {
            java.security.cert.Certificate[] chain =
                store.getCertificateChain(alias);
            System.out.println(alias + " key=" + store.isKeyEntry(alias)
                + " chain=" + (chain == null ? 0 : chain.length));
        }
    }

    private byte[] decrypt(String alias, String transformation, byte[] input)
        throws Exception {
        Cipher cipher = Cipher.getInstance(transformation, provider);
        cipher.init(Cipher.DECRYPT_MODE, key(alias));
        return cipher.doFinal(input);
    }

    private static String base64(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private List<String> tokensOf(int thread, String alias, int each)
        throws Exception {
        List<String> made = new ArrayList<>();
        for (int i = 0; i < each; i++) {
            String name = i % 2 == 0 ? "RS256" : "PS256";
            String head = "{\"alg\":\"" + name + "\",\"typ\":\"JWT\"}";
            String claims = "{\"sub\":\"" + thread + "\",\"jti\":" + i + "}";
            String text = base64(head.getBytes(StandardCharsets.UTF_8)) + "."
                + base64(claims.getBytes(StandardCharsets.UTF_8));
            made.add(text + "." + base64(sign(
                alias, i % 2 == 0 ? "SHA256withRSA" : name,
                text.getBytes(StandardCharsets.UTF_8))));
        }
        return made;
    }

    private void tokens(String alias, int threads, int each)
        throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Callable<List<String>>> tasks = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final int thread = i;
            tasks.add(() -> tokensOf(thread, alias, each));
        }
        List<Future<List<String>>> all = pool.invokeAll(tasks);
        pool.shutdown(); // else its threads outlive an exception below
        for (Future<List<String>> done : all) {
            done.get().forEach(System.out::println);
        }
    }

    private void serve(int connections) throws Exception {
        KeyManagerFactory keys = KeyManagerFactory.getInstance("SunX509");
        keys.init(store, null);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        SSLServerSocket server =
            (SSLServerSocket) context.getServerSocketFactory()
                .createServerSocket(0, 8, InetAddress.getByName("127.0.0.1"));
        System.out.println("port " + server.getLocalPort());
        for (int i = 0; i < connections; i++) {
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                InputStream in = socket.getInputStream();
                for (int last = 0, c = in.read(); c >= 0; c = in.read()) {
                    if (c == '\n' && last == '\n') {
                        break;
                    }
                    last = c == '\r' ? last : c;
                }
                socket.getOutputStream().write(
                    "HTTP/1.0 200 OK\r\n\r\nhello\r\n".getBytes(
                        StandardCharsets.US_ASCII));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        TokenUser user = new TokenUser(args[0]);
        switch (args[1]) {
        case "list":
            user.list();
            break;
        case "sign":
            Files.write(Path.of(args[5]), user.sign(args[2], args[3],
                Files.readAllBytes(Path.of(args[4]))));
            break;
        case "decrypt":
            Files.write(Path.of(args[5]), user.decrypt(args[2], args[3],
                Files.readAllBytes(Path.of(args[4]))));
            break;
        case "tokens":
            user.tokens(args[2], Integer.parseInt(args[3]),
                Integer.parseInt(args[4]));
            break;
        case "serve":
            user.serve(Integer.parseInt(args[2]));
            break;
        default:
            throw new IllegalArgumentException(args[1]);
        }
    }
}
