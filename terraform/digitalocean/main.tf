locals {
  user_data = templatefile("${path.module}/../../deploy/cloud-init/site.yml", {
    domain          = var.domain
    organiser_email = var.organiser_email
    repository      = var.repository
    release         = var.release
  })
}

resource "digitalocean_vpc" "inside" {
  name     = "${var.name}-inside"
  region   = var.region
  ip_range = var.network
}

resource "digitalocean_droplet" "site" {
  name       = "${var.name}-site"
  region     = var.region
  size       = var.size
  image      = var.image
  ssh_keys   = var.ssh_keys
  vpc_uuid   = digitalocean_vpc.inside.id
  monitoring = true
  backups    = true
  tags       = ["${var.name}-site"]
  user_data  = local.user_data

  lifecycle {
    # The host holds the database. A new release is installed there, not by a new host.
    ignore_changes  = [user_data, image]
    prevent_destroy = true
  }
}

resource "digitalocean_reserved_ip" "site" {
  region     = var.region
  droplet_id = digitalocean_droplet.site.id
}

resource "digitalocean_firewall" "site" {
  name        = "${var.name}-site"
  droplet_ids = [digitalocean_droplet.site.id]

  inbound_rule {
    protocol         = "tcp"
    port_range       = "22"
    source_addresses = var.ssh_from
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "80"
    source_addresses = ["0.0.0.0/0", "::/0"]
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "443"
    source_addresses = ["0.0.0.0/0", "::/0"]
  }
  # Database, Redis and registry for hosts of workers, on the private network alone.
  inbound_rule {
    protocol         = "tcp"
    port_range       = "5432"
    source_addresses = [var.network]
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "6379"
    source_addresses = [var.network]
  }
  inbound_rule {
    protocol         = "tcp"
    port_range       = "5000"
    source_addresses = [var.network]
  }
  outbound_rule {
    protocol              = "tcp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
  outbound_rule {
    protocol              = "udp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
}

# Hosts that `manage.py autoscale` creates have this tag: nothing comes in but ssh.
resource "digitalocean_tag" "worker" {
  name = "${var.name}-worker"
}

resource "digitalocean_firewall" "worker" {
  name = "${var.name}-worker"
  tags = [digitalocean_tag.worker.id]

  inbound_rule {
    protocol         = "tcp"
    port_range       = "22"
    source_addresses = var.ssh_from
  }
  outbound_rule {
    protocol              = "tcp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
  outbound_rule {
    protocol              = "udp"
    port_range            = "all"
    destination_addresses = ["0.0.0.0/0", "::/0"]
  }
}

resource "digitalocean_record" "site" {
  count  = var.zone == "" ? 0 : 1
  domain = var.zone
  type   = "A"
  name   = var.domain == var.zone ? "@" : trimsuffix(var.domain, ".${var.zone}")
  value  = digitalocean_reserved_ip.site.ip_address
  ttl    = 300
}
