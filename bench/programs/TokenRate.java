// SPDX-License-Identifier: Apache-2.0
//
// Signatures of threads that each sign one after the other, SHA256withRSA: by a
// key of a token through SunPKCS11, or by a key that Java has through
// SunRsaSign. For bench/token.
//
//   java TokenRate.java token CONFIGURATION ALIAS PUBLIC-KEY THREADS SECONDS
//   java TokenRate.java own PRIVATE-KEY PUBLIC-KEY THREADS SECONDS
//
// The keys are files in DER, PKCS #8 and SubjectPublicKeyInfo. Each thread signs
// a message of its own, so that all its signatures are the same number;
// SunRsaSign verifies the first one, and the others are compared with it. The
// warm-up is as long as what is measured, because Java compiles meanwhile.
// Prints the rate, and the microseconds of this process's processor time for a
// signature.
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.Security;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;

public final class TokenRate {
    private static final String ALGORITHM = "SHA256withRSA";
    private static final LongAdder COUNT = new LongAdder();
    private static volatile boolean stop;

    private final Provider provider;
    private final PrivateKey key;
    private final PublicKey publicKey;

    private TokenRate(Provider provider, PrivateKey key, String publicKey)
        throws Exception {
        this.provider = provider;
        this.key = key;
        this.publicKey = KeyFactory.getInstance("RSA", "SunRsaSign")
            .generatePublic(new X509EncodedKeySpec(
                Files.readAllBytes(Path.of(publicKey))));
    }

    private static TokenRate byToken(String configuration, String alias,
                                     String publicKey) throws Exception {
        Provider provider =
            Security.getProvider("SunPKCS11").configure(configuration);
        KeyStore store = KeyStore.getInstance("PKCS11", provider);
        store.load(null, null);
        return new TokenRate(provider, (PrivateKey) store.getKey(alias, null),
                             publicKey);
    }

    private static TokenRate byJava(String privateKey, String publicKey)
        throws Exception {
        PrivateKey key = KeyFactory.getInstance("RSA", "SunRsaSign")
            .generatePrivate(new PKCS8EncodedKeySpec(
                Files.readAllBytes(Path.of(privateKey))));
        return new TokenRate(Security.getProvider("SunRsaSign"), key,
                             publicKey);
    }

    private static byte[] sign(Signature signature, PrivateKey key,
                               byte[] message) throws Exception {
        signature.initSign(key);
        signature.update(message);
        return signature.sign();
    }

    private void signs(byte[] message, CountDownLatch ready) throws Exception {
        Signature signature = Signature.getInstance(ALGORITHM, provider);
        byte[] first = sign(signature, key, message);
        Signature verifier = Signature.getInstance(ALGORITHM, "SunRsaSign");
        verifier.initVerify(publicKey);
        verifier.update(message);
        if (!verifier.verify(first)) {
            throw new IllegalStateException("a wrong signature");
        }
        ready.countDown();
        while (!stop) {
            if (!Arrays.equals(first, sign(signature, key, message))) {
                throw new IllegalStateException("a wrong signature");
            }
            COUNT.increment();
        }
    }

    private static long processorNanoseconds() {
        return ((com.sun.management.OperatingSystemMXBean)
            ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime();
    }

    private void measure(int threads, double seconds) throws Exception {
        CountDownLatch ready = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            byte[] message = ("message " + i).getBytes("US-ASCII");
            new Thread(() -> {
                try {
                    signs(message, ready);
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            }).start();
        }
        ready.await();
        Thread.sleep((long) (1000 * seconds));
        long begun = System.nanoTime();
        long processor = processorNanoseconds();
        long count = COUNT.sum();
        Thread.sleep((long) (1000 * seconds));
        count = COUNT.sum() - count;
        processor = processorNanoseconds() - processor;
        begun = System.nanoTime() - begun;
        stop = true;
        System.out.printf(Locale.ROOT, "%.1f %.3f%n", count / (begun / 1e9),
                          processor / 1e3 / count);
    }

    public static void main(String[] args) throws Exception {
        int last = args.length;
        TokenRate rate = args[0].equals("token")
            ? byToken(args[1], args[2], args[3]) : byJava(args[1], args[2]);
        rate.measure(Integer.parseInt(args[last - 2]),
                     Double.parseDouble(args[last - 1]));
    }
}
