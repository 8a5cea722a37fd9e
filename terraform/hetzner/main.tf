locals {
  user_data = templatefile("${path.module}/../../deploy/cloud-init/site.yml", {
    domain          = var.domain
    organiser_email = var.organiser_email
    repository      = var.repository
    release         = var.release
  })
}

resource "hcloud_network" "inside" {
  name     = "${var.name}-inside"
  ip_range = var.network
}

resource "hcloud_network_subnet" "inside" {
  network_id   = hcloud_network.inside.id
  type         = "cloud"
  network_zone = "eu-central"
  ip_range     = var.network
}

# The private network passes no firewall here, and the compose file publishes no port there.
resource "hcloud_firewall" "site" {
  name = "${var.name}-site"

  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "22"
    source_ips = var.ssh_from
  }
  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "80"
    source_ips = ["0.0.0.0/0", "::/0"]
  }
  rule {
    direction  = "in"
    protocol   = "tcp"
    port       = "443"
    source_ips = ["0.0.0.0/0", "::/0"]
  }
}

resource "hcloud_primary_ip" "site" {
  name          = "${var.name}-site"
  type          = "ipv4"
  location      = var.region
  assignee_type = "server"
  auto_delete   = false
}

resource "hcloud_server" "site" {
  name         = "${var.name}-site"
  location     = var.region
  server_type  = var.size
  image        = var.image
  ssh_keys     = var.ssh_keys
  firewall_ids = [hcloud_firewall.site.id]
  backups      = true
  user_data    = local.user_data

  public_net {
    ipv4 = hcloud_primary_ip.site.id
  }
  network {
    network_id = hcloud_network.inside.id
  }

  lifecycle {
    # The host holds the database. A new release is installed there, not by a new host.
    ignore_changes  = [user_data, image]
    prevent_destroy = true
  }
  depends_on = [hcloud_network_subnet.inside]
}

resource "hcloud_zone_rrset" "site" {
  count   = var.zone == "" ? 0 : 1
  zone    = var.zone
  name    = var.domain == var.zone ? "@" : trimsuffix(var.domain, ".${var.zone}")
  type    = "A"
  ttl     = 300
  records = [{ value = hcloud_primary_ip.site.ip_address }]
}
